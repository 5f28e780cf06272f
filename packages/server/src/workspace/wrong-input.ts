import type { IssueCode } from '@countersign/core/contract/issue';
import { LABEL_LENGTH_MAX, TEXT_LENGTH_MAX } from '@countersign/core/contract/scalars';

/** An argument of an action is malformed. The message names the argument and the rule that it breaks. */
export class InvalidInputError extends Error {
  override name = 'InvalidInputError';
  /** The code of the issue in the response of the portal's API. */
  readonly code: IssueCode;

  constructor(message: string, code: IssueCode = 'bad_format') {
    super(message);
    this.code = code;
  }
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Whether a text has more than `max` code points. They are not counted if the text has more than `2 * max` UTF-16 units. */
function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > 2 * max || [...text].length > max;
}

/** Checks a label: 1 to 512 code points, no control characters, no lone surrogates. Returns it. @throws InvalidInputError */
export function requireLabel(what: string, text: string): string {
  if (text === '') throw new InvalidInputError(`${what} must not be empty`, 'too_short');
  if (isLonger(text, LABEL_LENGTH_MAX))
    throw new InvalidInputError(`${what} must have at most ${LABEL_LENGTH_MAX} characters`, 'too_long');
  if (CONTROL.test(text))
    throw new InvalidInputError(`${what} must not contain control characters (no line breaks, no tabs)`, 'bad_characters');
  return requireWellFormed(what, text);
}

/** Checks a label that a person types. White space at its ends is rejected, because names that differ only there look the same. */
export function requireName(what: string, text: string): string {
  if (text !== text.trim()) throw new InvalidInputError(`${what} must not begin or end with white space`, 'white_space_at_end');
  return requireLabel(what, text);
}

/**
 * Checks free text for the ledger, and returns it unchanged: not blank, at most 65,536 code points, no U+0000, no lone surrogates.
 * PostgreSQL's text cannot store U+0000, and lone surrogates have no bytes to hash.
 * @throws InvalidInputError
 */
export function requireText(what: string, text: string): string {
  if (text.trim() === '') throw new InvalidInputError(`${what} must not be empty`, 'too_short');
  if (isLonger(text, TEXT_LENGTH_MAX)) throw new InvalidInputError(`${what} must have at most 65,536 characters`, 'too_long');
  if (text.includes('\u0000')) throw new InvalidInputError(`${what} must not contain the character U+0000`, 'bad_characters');
  return requireWellFormed(what, text);
}

function requireWellFormed(what: string, text: string): string {
  if (!text.isWellFormed())
    throw new InvalidInputError(`${what} contains half of a surrogate pair; use complete characters`, 'bad_characters');
  return text;
}
