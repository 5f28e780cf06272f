import type { Digests } from '@countersign/core/domain/digests';
import { ed25519 } from '@noble/curves/ed25519.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 as hashBytes } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** The domain's cryptography in a browser: the same synchronous interface as on the server, so that one code checks in both places. */
export const digests: Digests = {
  sha256Hex: (text) => bytesToHex(hashBytes(utf8ToBytes(text))),
  hmacSha256Hex: (key, text) => bytesToHex(hmac(hashBytes, key, utf8ToBytes(text))),
};

export const sha256 = (bytes: Uint8Array): Uint8Array => hashBytes(bytes);

/** Checks an Ed25519 signature (RFC 8032); false for whatever is no key and no signature. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}
