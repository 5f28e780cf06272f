import type { Digests } from '@countersign/core/domain/digests';
import { ed25519 } from '@noble/curves/ed25519.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 as hashBytes, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';

/** SHA-256 and HMAC for the browser. They are synchronous, as the interface of the domain requires (docs/decisions/0019). */
export const digests: Digests = {
  sha256Hex: (text) => bytesToHex(hashBytes(utf8ToBytes(text))),
  hmacSha256Hex: (key, text) => bytesToHex(hmac(hashBytes, key, utf8ToBytes(text))),
};

export const sha256 = (bytes: Uint8Array): Uint8Array => hashBytes(bytes);

/** Whether an Ed25519 signature is valid (RFC 8032, without the cofactor, like OpenSSL); false for malformed keys and signatures. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return (
      ed25519.verify(signature, message, publicKey, { zip215: false }) && isValidWithoutCofactor(publicKey, message, signature)
    );
  } catch {
    return false;
  }
}

/** Whether S·B = R + k·A. The library multiplies both sides by 8, so it accepts signatures that OpenSSL and the Python verifier reject. */
function isValidWithoutCofactor(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const { Point } = ed25519;
  const [r, s] = [signature.subarray(0, 32), scalarOf(signature.subarray(32))];
  const k = scalarOf(sha512(concatBytes(r, publicKey, message))) % Point.Fn.ORDER;
  const right = Point.fromBytes(r).add(Point.fromBytes(publicKey).multiplyUnsafe(k));
  return Point.BASE.multiplyUnsafe(s).equals(right);
}

/** Reads a little-endian number. */
const scalarOf = (bytes: Uint8Array): bigint => BigInt(`0x${bytesToHex(Uint8Array.from(bytes).reverse())}`);
