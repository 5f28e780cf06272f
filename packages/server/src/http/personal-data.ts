import { LABEL_LENGTH_MAX } from '@countersign/core/contract/scalars';

/** One character on either side is sufficient. Longer matches would be scanned again from each position. */
const CONTAINS_EMAIL = /[^\s@<>]@[^\s@<>]+\.[^\s@<>]/;
/** A leading + and six digits or more, with an extension or with parameters (RFC 3966, section 3) or without. */
const TELEPHONE =
  /^\s*(?:tel:\s*)?\+(?:[\s().\-/\u2010-\u2015]*\d){6,}[\s().\-/,]*(?:;\s*[a-z-]+=.*|;?\s*(?:ext(?:ension|n)?|x|#)[\s.:=]*\d+\s*)?$/i;
const ASCII = /^[\u0000-\u007f]*$/;
/** Longer texts are rejected elsewhere. On megabytes these expressions would run for hours or overflow the stack. */
const UNITS_MAX = 2 * LABEL_LENGTH_MAX;

/** Whether a user identifier is an e-mail address or a telephone number, also in full-width characters (Unicode's NFKC). */
export function isPersonal(text: string): boolean {
  if (text.length > UNITS_MAX) return false;
  return looksPersonal(text) || (!ASCII.test(text) && looksPersonal(text.normalize('NFKC')));
}

const looksPersonal = (text: string): boolean => CONTAINS_EMAIL.test(text) || TELEPHONE.test(text);
