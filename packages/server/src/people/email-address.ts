/**
 * What is surely an address: one @ with something before it and a domain behind it, no spaces. Nor characters that are not seen, of
 * control or of format: two addresses that look alike would be two accounts. Whether it exists, mail alone can tell.
 */
const FORM = /^[^\s@<>"(),:;[\]\\\p{Cc}\p{Cf}]{1,64}@[^\s@<>"(),:;[\]\\\p{Cc}\p{Cf}]+\.[^\s@<>"(),:;[\]\\.\p{Cc}\p{Cf}]+$/u;

/** Longest address that mail can be sent to, in characters (RFC 5321). */
const LENGTH_MAX = 254;

/** Whether a text, blanks around it aside, is an e-mail address in the form in which it is compared and kept: that may be the longer one. */
export function isEmailAddress(text: string): boolean {
  if (text.length > 2 * LENGTH_MAX || !text.isWellFormed()) return false;
  const compared = comparedEmail(text);
  return compared.length <= LENGTH_MAX && FORM.test(compared);
}

/** An e-mail address in the form in which accounts are compared: without regard to case, or to how its characters are composed. */
export const comparedEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase();
