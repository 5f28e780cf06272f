import type { Digests } from '@countersign/core/domain/digests';
import type { Hashing } from '@countersign/core/domain/export-verifier';
import { hashes, verify } from '@noble/ed25519';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 as sha256Of, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/**
 * The cryptography of the verifications in plain JavaScript: WebCrypto waits for each hash, and `node:crypto` is not everywhere, but
 * the domain's code is one synchronous code for all runtimes.
 */
export const digests: Digests = {
  sha256Hex: (text) => bytesToHex(sha256Of(utf8ToBytes(text))),
  hmacSha256Hex: (key, text) => bytesToHex(hmac(sha256Of, key, utf8ToBytes(text))),
};

/** SHA-256 over bytes. */
export const sha256 = (bytes: Uint8Array): Uint8Array => sha256Of(bytes);

/** What walking a log takes. */
export const hashing: Hashing = { digests, sha256 };

/** Checks an Ed25519 signature (RFC 8032, as OpenSSL does); false for whatever is no key and no signature. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    hashes.sha512 = sha512;
    return verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}
