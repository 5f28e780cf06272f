import { createHash, createHmac, hkdfSync } from 'node:crypto';
import type { Digests } from '../src/domain/digests.ts';

/** The digests that the domain takes as an argument, for tests. */
export const digests: Digests = {
  sha256Hex: (text) => createHash('sha256').update(text, 'utf8').digest('hex'),
  hmacSha256Hex: (key, text) => createHmac('sha256', key).update(text, 'utf8').digest('hex'),
};

/** HKDF-SHA256 (RFC 5869) without a salt, 32 bytes. */
export const hkdf = (secret: Uint8Array, info: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, '', info, 32));
