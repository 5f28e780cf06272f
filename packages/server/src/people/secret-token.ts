import { hash, randomBytes } from 'node:crypto';

/** Random bytes of a session's or a link's token: 256 bits. */
const TOKEN_BYTES = 32;

const FORM = /^[A-Za-z0-9_-]{43}$/;

/** A token for a session or a one-time link, and what is stored of it. */
export function newToken(): { token: string; tokenSha256: Buffer } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenSha256: sha256Of(token) };
}

/** The hash that a token is looked up by; undefined for a text that is no token. A search by hash tells nothing by its time. */
export const hashOfToken = (token: string): Buffer | undefined => (FORM.test(token) ? sha256Of(token) : undefined);

/** SHA-256 is enough: there is nothing to guess in 256 random bits, as there is in a password. */
const sha256Of = (token: string): Buffer => hash('sha256', token, 'buffer');
