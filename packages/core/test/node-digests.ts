import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, sign, verify } from 'node:crypto';
import type { Digests } from '../src/domain/digests.ts';

/** Digests for the functions of the domain, computed with node:crypto. */
export const digests: Digests = {
  sha256Hex: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
  hmacSha256Hex: (key, text) => createHmac('sha256', key).update(text, 'utf8').digest('hex'),
};

/** HKDF-SHA256 (RFC 5869) without a salt, 32 bytes. */
export const hkdf = (secret: Uint8Array, info: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, '', info, 32));

/** SHA-256 of bytes, for trees and notes. */
export const sha256 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(bytes).digest());

/** DER prefixes of raw Ed25519 keys (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Verifies an Ed25519 signature with a raw public key. */
export const verifyEd25519 = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, message, createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' }), signature);

/** An Ed25519 key pair from a seed of 32 bytes (RFC 8032). */
export function keyPair(seed: Uint8Array): { publicKey: Uint8Array; sign: (message: Uint8Array) => Uint8Array } {
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = new Uint8Array(createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI.length));
  return { publicKey, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}
