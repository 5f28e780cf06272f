import { LABEL_LENGTH_MAX, TEXT_LENGTH_MAX } from '@countersign/core/contract/scalars';

/** Something given to an act has not the form it must have. The message names it and says what it must be. */
export class WrongInput extends Error {
  override name = 'WrongInput';
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Code points, stopped soon after the limit: the text may be as long as its sender likes. */
function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > 2 * max || [...text].length > max;
}

/** A name as the contract bounds it: 1 to 512 characters, no control characters, no lone surrogates. Returns it. */
export function requireLabel(what: string, text: string): string {
  if (text === '') throw new WrongInput(`${what} must not be empty`);
  if (isLonger(text, LABEL_LENGTH_MAX)) throw new WrongInput(`${what} must have at most ${LABEL_LENGTH_MAX} characters`);
  if (CONTROL.test(text)) throw new WrongInput(`${what} must hold no control characters (no line breaks, no tabs)`);
  return requireWhole(what, text);
}

/** A label that somebody types: white space around it would make another name that looks the same. Returns it. */
export function requireName(what: string, text: string): string {
  if (text !== text.trim()) throw new WrongInput(`${what} must not begin or end with white space`);
  return requireLabel(what, text);
}

/**
 * Free text that goes under the ledger's hash: something said in 1 to 65,536 characters. No lone surrogates, which have no
 * bytes to hash, and no U+0000, which PostgreSQL's text cannot hold. Returns it as it came.
 */
export function requireText(what: string, text: string): string {
  if (text.trim() === '') throw new WrongInput(`${what} must not be empty`);
  if (isLonger(text, TEXT_LENGTH_MAX)) throw new WrongInput(`${what} must have at most 65,536 characters`);
  if (text.includes('\u0000')) throw new WrongInput(`${what} must not hold the character U+0000`);
  return requireWhole(what, text);
}

function requireWhole(what: string, text: string): string {
  if (!text.isWellFormed()) throw new WrongInput(`${what} holds half of a surrogate pair; give whole characters`);
  return text;
}
