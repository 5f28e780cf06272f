import type { KeyKind } from '../contract/scopes.ts';

/** A key as sent: `aa_live_<12 hex>.<32 random bytes, base64url>`, or `aa_read_…` for a read token. */
export interface IngestionKey {
  kind: KeyKind;
  /** Twelve hex digits that identify the key. They are not secret. */
  prefix: string;
  /** The secret part as sent. Only its SHA-256 is stored. */
  secret: string;
}

const FORM = /^aa_(live|read)_([0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/;

/** Bytes of the random secret. */
export const SECRET_BYTES = 32;
/** Bytes of the random prefix. */
export const PREFIX_BYTES = 6;

/** Parses a key; undefined if it is malformed. */
export function parseIngestionKey(text: string): IngestionKey | undefined {
  const [, kind, prefix, secret] = FORM.exec(text) ?? [];
  return prefix === undefined || secret === undefined ? undefined : { kind: kind as KeyKind, prefix, secret };
}

/** Formats a key. Its text is shown once and never stored. */
export const formatIngestionKey = ({ kind, prefix, secret }: IngestionKey): string => `aa_${kind}_${prefix}.${secret}`;

/** Parses a prefix as people enter it: twelve hex digits, with or without `aa_live_` or `aa_read_`. Undefined if it is malformed. */
export function parseKeyPrefix(text: string): string | undefined {
  const prefix = text.replace(/^aa_(live|read)_/, '');
  return /^[0-9a-f]{12}$/.test(prefix) ? prefix : undefined;
}

/**
 * Returns the text of the key that a request sends; undefined if it sends none. `Authorization: Bearer` takes precedence over
 * `X-Service-Key`: if no token follows `Bearer`, or more than one, the result is undefined. The form of the token is not checked. Other
 * schemes of Authorization are ignored.
 * @param authorization the value of `Authorization`.
 * @param serviceKey the value of `X-Service-Key`.
 */
export function keyInHeaders(authorization: string | undefined, serviceKey: string | undefined): string | undefined {
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (bearer !== undefined) return bearer;
  return BEARER.test(authorization ?? '') ? undefined : serviceKey?.trim();
}

/** Matches the whole name of the scheme: `Bearer-Extra` is another scheme (RFC 9110, section 5.6.2). */
const BEARER = /^Bearer(?![\w!#$%&'*+.^`|~-])/i;
