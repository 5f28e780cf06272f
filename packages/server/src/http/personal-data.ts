import { LABEL_LENGTH_MAX } from '@countersign/core/contract/scalars';

/**
 * An email address anywhere in a text, also with the ideographic full stop of IDNA (RFC 3490, section 3.1). The expression
 * matches only one character before the @, because matching more would take quadratic time on a long text.
 */
const CONTAINS_EMAIL = /[^\s@<>]@[^\s@<>]+[.\u3002][^\s@<>]/;
/** A telephone number: a +, six or more digits of any script, and optionally an extension or parameters (RFC 3966, section 3). */
const TELEPHONE =
  /^\s*(?:tel:\s*)?\+(?:[\s().\-/\u2010-\u2015]*\p{Nd}){6,}[\s().\-/,]*(?:;\s*[a-z-]+=.*|;?\s*(?:ext(?:ension|n)?|x|#)[\s.:=]*\p{Nd}+\s*)?$/iu;
const ASCII = /^[\u0000-\u007f]*$/;
/**
 * The maximum length of a text that is searched at once, in UTF-16 code units. No label is longer. `containsPersonalData` searches longer
 * texts in pieces, because on megabytes the expressions above would run for hours or overflow the stack.
 */
const UNITS_MAX = 2 * LABEL_LENGTH_MAX;

/** The distance between the starts of two pieces. Pieces overlap, so that an address of up to this length is whole in one of them. */
const PIECE_DISTANCE = UNITS_MAX / 2;

/**
 * Whether a user ID of any length is personal data. A text longer than UNITS_MAX is checked in pieces that overlap.
 */
export function containsPersonalData(text: string): boolean {
  for (let at = 0; ; at += PIECE_DISTANCE) {
    if (isPersonal(text.slice(at, at + UNITS_MAX))) return true;
    if (at + UNITS_MAX >= text.length) return false;
  }
}

/**
 * Whether a user ID contains an email address or is a telephone number, also in full-width characters, which NFKC normalizes. False for a
 * text longer than UNITS_MAX, which is not a valid label.
 */
export function isPersonal(text: string): boolean {
  if (text.length > UNITS_MAX) return false;
  return looksPersonal(text) || (!ASCII.test(text) && looksPersonal(text.normalize('NFKC')));
}

const looksPersonal = (text: string): boolean => CONTAINS_EMAIL.test(text) || TELEPHONE.test(text);
