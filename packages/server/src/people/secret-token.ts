import { hash, randomBytes } from 'node:crypto';

/** The number of random bytes in the token of a session or a link: 256 bits. */
const TOKEN_BYTES = 32;

const FORM = /^[A-Za-z0-9_-]{43}$/;

/** Creates a token for a session or a one-time link, with its stored hash. */
export function newToken(): { token: string; tokenSha256: Buffer } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenSha256: sha256Of(token) };
}

/** The hash by which a token is looked up; undefined for a malformed token. The time of this lookup reveals nothing about the token. */
export const hashOfToken = (token: string): Buffer | undefined => (FORM.test(token) ? sha256Of(token) : undefined);

/** SHA-256 is sufficient, because 256 random bits cannot be guessed, unlike a password. */
const sha256Of = (token: string): Buffer => hash('sha256', token, 'buffer');
