/**
 * The digests that the domain takes as an argument: it makes the text, the caller brings the cryptography
 * (`node:crypto` on the server, @noble/hashes in browsers and edge runtimes), so that there is one synchronous code everywhere.
 */
export interface Digests {
  /** SHA-256 of the UTF-8 bytes of a text, 64 lower-case hex digits. */
  sha256Hex(text: string): string;
  /** HMAC-SHA256 (RFC 2104) of the UTF-8 bytes of a text, 64 lower-case hex digits. */
  hmacSha256Hex(key: Uint8Array, text: string): string;
}
