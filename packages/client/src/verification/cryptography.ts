import type { Digests } from '@countersign/core/domain/digests';
import type { Hashing } from '@countersign/core/domain/export-verifier';
import { hashes, Point, verify } from '@noble/ed25519';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 as sha256Of, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/**
 * The cryptography of verification in plain JavaScript. The code of the domain is synchronous and runs on all runtimes, but WebCrypto is
 * asynchronous, and not all runtimes have `node:crypto`.
 */
export const digests: Digests = {
  sha256Hex: (text) => bytesToHex(sha256Of(utf8ToBytes(text))),
  hmacSha256Hex: (key, text) => bytesToHex(hmac(sha256Of, key, utf8ToBytes(text))),
};

/** SHA-256 over bytes. */
export const sha256 = (bytes: Uint8Array): Uint8Array => sha256Of(bytes);

/** The hash functions for verifying a log. */
export const hashing: Hashing = { digests, sha256 };

/** Checks an Ed25519 signature (RFC 8032, without the cofactor, like OpenSSL); false for malformed keys and signatures. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    hashes.sha512 = sha512;
    return verify(signature, message, publicKey, { zip215: false }) && isValidWithoutCofactor(publicKey, message, signature);
  } catch {
    return false;
  }
}

/** Checks S·B = R + k·A. The library multiplies both sides by 8, so it accepts signatures that OpenSSL and the Python verifier reject. */
function isValidWithoutCofactor(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const [r, s] = [signature.subarray(0, 32), scalarOf(signature.subarray(32))];
  const k = scalarOf(sha512(concatBytes(r, publicKey, message))) % Point.CURVE().n;
  const right = Point.fromBytes(r).add(Point.fromBytes(publicKey).multiply(k, false));
  return Point.BASE.multiply(s, false).equals(right);
}

/** Reads a little-endian number. */
const scalarOf = (bytes: Uint8Array): bigint => BigInt(`0x${bytesToHex(Uint8Array.from(bytes).reverse())}`);
