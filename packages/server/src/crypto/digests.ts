import { createHmac, createPublicKey, createSecretKey, hash, hkdfSync, type KeyObject, verify } from 'node:crypto';
import { decisionKeyInfo } from '@countersign/core/domain/decision-signature';
import type { Digests } from '@countersign/core/domain/digests';
import { mustRejectPublicKey } from '@countersign/core/domain/small-order';

/** The digests that the domain needs, by node:crypto. */
export const digests: Digests = {
  sha256Hex: (text) => hash('sha256', text, 'hex'),
  hmacSha256Hex: (key, text) => createHmac('sha256', keyObject(key)).update(text, 'utf8').digest('hex'),
};

/** Caches the key object: creating it costs more than the MAC of a decision. */
function keyObject(key: Uint8Array): KeyObject {
  let object = keyObjects.get(key);
  if (object === undefined) {
    object = createSecretKey(key);
    keyObjects.set(key, object);
  }
  return object;
}

const keyObjects = new WeakMap<Uint8Array, KeyObject>();

/** A tenant's decision key: HKDF-SHA256 of the master secret (RFC 5869, docs/formats.md "Decision key"). 32 bytes. */
export const deriveDecisionKey = (masterSecret: Uint8Array, tenantId: string, keyId: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', masterSecret, '', decisionKeyInfo(tenantId, keyId), 32));

/**
 * SHA-256 over bytes, for trees and notes. The result passes through a binary string, because a Buffer from `hash` takes twice the time.
 */
export const sha256 = (bytes: Uint8Array): Uint8Array => Buffer.from(hash('sha256', bytes, 'binary'), 'binary');

/** The prefix that makes a raw Ed25519 public key a SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** The fingerprint by which an instance recognizes its first signing key: SHA-256 of the SubjectPublicKeyInfo, in hex. */
export const publicKeyFingerprint = (publicKey: Uint8Array): string =>
  hash('sha256', Buffer.concat([SPKI_PREFIX, publicKey]), 'hex');

/**
 * Verifies an Ed25519 signature with a raw public key. OpenSSL uses the equation without the cofactor. Returns false for a malformed key or
 * signature.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  // OpenSSL accepts keys of small order, for which one signature is valid for many messages.
  if (mustRejectPublicKey(publicKey)) return false;
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, publicKey]), format: 'der', type: 'spki' });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}
