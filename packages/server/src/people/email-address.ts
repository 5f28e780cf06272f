import { hasInvisibleCharacters } from '@countersign/core/domain/invisible-characters';

/**
 * A plausible address: one @ with 1 to 64 characters before it and a domain with a dot after it. It contains no spaces, brackets, quotes,
 * backslashes, commas, colons, semicolons, control or format characters. Only a message to the address can prove that it exists.
 */
const FORM = /^[^\s@<>"(),:;[\]\\\p{Cc}\p{Cf}]{1,64}@[^\s@<>"(),:;[\]\\\p{Cc}\p{Cf}]+\.[^\s@<>"(),:;[\]\\.\p{Cc}\p{Cf}]+$/u;

/** The maximum length of an email address in UTF-16 units. RFC 5321 allows 254 bytes. */
const LENGTH_MAX = 254;

/**
 * Whether a text is an email address after normalization, which may change its length. Invisible characters are rejected, because with them
 * two accounts could have addresses that look the same.
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > 2 * LENGTH_MAX || !text.isWellFormed()) return false;
  const normalized = normalizeEmail(text);
  return normalized.length <= LENGTH_MAX && FORM.test(normalized) && !hasInvisibleCharacters(normalized);
}

/**
 * The normalized form of an email address: trimmed, in lower case and in NFC. Some letters have a composed form only in lower case, so NFC
 * is applied last.
 */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase().normalize('NFC');
