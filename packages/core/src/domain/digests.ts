/**
 * The hash functions that the caller passes to the domain. The server uses `node:crypto`. The client and the portal use @noble/hashes.
 * So the code of the domain is the same everywhere, and synchronous.
 */
export interface Digests {
  /** SHA-256 of the UTF-8 bytes of a text, 64 lower-case hex digits. */
  sha256Hex(text: string): string;
  /** HMAC-SHA256 (RFC 2104) of the UTF-8 bytes of a text, 64 lower-case hex digits. */
  hmacSha256Hex(key: Uint8Array, text: string): string;
}
