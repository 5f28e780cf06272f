import { LABEL_LENGTH_MAX } from '@countersign/core/contract/scalars';

/** One character on either side is enough to be found by: longer ones would be walked again from each of their places. */
const HOLDS_EMAIL = /[^\s@<>]@[^\s@<>]+\.[^\s@<>]/;
/** A leading + and six digits or more, with an extension or with parameters (RFC 3966, section 3) or without. */
const TELEPHONE =
  /^\s*(?:tel:\s*)?\+(?:[\s().\-/\u2010-\u2015]*\d){6,}[\s().\-/,]*(?:;\s*[a-z-]+=.*|;?\s*(?:ext(?:ension|n)?|x|#)[\s.:=]*\d+\s*)?$/i;
const ASCII = /^[\u0000-\u007f]*$/;
/** A longer text is too long as a label, which is said elsewhere: on megabytes these would run for hours, or out of stack. */
const UNITS_MAX = 2 * LABEL_LENGTH_MAX;

/** Whether a user identifier is an e-mail address or a telephone number, in characters of another width as well (Unicode's NFKC). */
export function isPersonal(text: string): boolean {
  if (text.length > UNITS_MAX) return false;
  return looksPersonal(text) || (!ASCII.test(text) && looksPersonal(text.normalize('NFKC')));
}

const looksPersonal = (text: string): boolean => HOLDS_EMAIL.test(text) || TELEPHONE.test(text);
