import type { IssueCode } from '../contract/issue.ts';
import { hasInvisibleOutsideEmoji, invisibleCharacters } from './invisible-characters.ts';

/** A violation of the rules for agent names. */
export interface NameProblem {
  code: Extract<IssueCode, 'not_normalized' | 'white_space_at_end' | 'invisible_character'>;
  /** The fault and its position: the rest of a sentence that starts with the member's name. */
  message: string;
}

/**
 * Returns the faults of an agent's name. A name must be in Unicode NFC, without white space at its ends and without invisible characters.
 * So different names look different, unless they differ only in look-alike letters, widths or runs of white space (see name-skeleton.ts).
 */
export function agentNameProblems(name: string): NameProblem[] {
  if (PLAIN_NAME.test(name)) return [];
  return [...invisibleProblems(name), ...whiteSpaceProblems(name), ...normalizationProblems(name)];
}

/** Whether a name has faults. Faster than `agentNameProblems` for long names of joined emoji (see `hasInvisibleOutsideEmoji`). */
export function hasNameProblem(name: string): boolean {
  if (PLAIN_NAME.test(name)) return false;
  return name !== name.normalize('NFC') || /^\p{White_Space}|\p{White_Space}$/u.test(name) || hasInvisibleOutsideEmoji(name);
}

/** Returns the name without its faults: in NFC, without invisible characters or white space at its ends. The result may be empty. */
export function acceptableName(name: string): string {
  const visibleName = invisibleCharacters(name).reduceRight((text, { at, character }) => {
    return text.slice(0, at) + text.slice(at + character.length);
  }, name);
  const accepted = visibleName.normalize('NFC').replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
  return accepted === name || agentNameProblems(accepted).length === 0 ? accepted : acceptableName(accepted);
}

/** Printable ASCII without spaces at its ends is always valid. */
const PLAIN_NAME = /^[!-~](?:[ -~]*[!-~])?$/;

/** The maximum number of positions in a message. */
const POSITIONS_MAX = 5;

function invisibleProblems(name: string): NameProblem[] {
  const characters = invisibleCharacters(name);
  if (characters.length === 0) return [];
  const descriptions = characters.slice(0, POSITIONS_MAX).map(({ at, character }) => describeCharacter(name, at, character));
  const moreText = characters.length > POSITIONS_MAX ? ` and ${characters.length - POSITIONS_MAX} more` : '';
  return [{ code: 'invisible_character', message: `contains invisible characters: ${descriptions.join(', ')}${moreText}` }];
}

function whiteSpaceProblems(name: string): NameProblem[] {
  const characters = [...name];
  const ends: string[] = [];
  if (isWhiteSpace(characters[0])) ends.push(describeCharacter(name, 0, characters[0]!));
  const last = characters.at(-1);
  if (characters.length > 1 && isWhiteSpace(last)) ends.push(describeCharacter(name, name.length - last!.length, last!));
  if (ends.length === 0) return [];
  return [{ code: 'white_space_at_end', message: `begins or ends with white space: ${ends.join(', ')}` }];
}

const isWhiteSpace = (character: string | undefined): boolean => character !== undefined && /^\p{White_Space}$/u.test(character);

function normalizationProblems(name: string): NameProblem[] {
  const normalized = name.normalize('NFC');
  if (normalized === name) return [];
  const expected = [...normalized];
  const characters = [...name];
  const position = characters.findIndex((character, index) => character !== expected[index]);
  const index = position === -1 ? expected.length : position;
  const firstDifference = `${describeCodePoint(characters[index]!)} at position ${index + 1}`;
  return [{ code: 'not_normalized', message: `is not in Unicode NFC, first at ${firstDifference}` }];
}

/** Returns a character's code point, its name if COMMON_NAMES has it, and its position in code points, from 1. */
const describeCharacter = (name: string, at: number, character: string): string =>
  `${describeCodePoint(character)} at position ${[...name.slice(0, at)].length + 1}`;

/** Describes a character by its code point, for example `U+200B ZERO WIDTH SPACE`. The name is added only if COMMON_NAMES has it. */
export function describeCodePoint(character: string): string {
  const hex = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const commonName = COMMON_NAMES.get(character);
  return `U+${hex}${commonName === undefined ? '' : ` ${commonName}`}`;
}

/** Names of characters that often come from copy and paste. */
const COMMON_NAMES: ReadonlyMap<string, string> = new Map([
  [' ', 'SPACE'],
  ['\u00a0', 'NO-BREAK SPACE'],
  ['\u00ad', 'SOFT HYPHEN'],
  ['\u200b', 'ZERO WIDTH SPACE'],
  ['\u200c', 'ZERO WIDTH NON-JOINER'],
  ['\u200d', 'ZERO WIDTH JOINER'],
  ['\u200e', 'LEFT-TO-RIGHT MARK'],
  ['\u200f', 'RIGHT-TO-LEFT MARK'],
  ['\u202d', 'LEFT-TO-RIGHT OVERRIDE'],
  ['\u202e', 'RIGHT-TO-LEFT OVERRIDE'],
  ['\u202f', 'NARROW NO-BREAK SPACE'],
  ['\u2060', 'WORD JOINER'],
  ['\u3000', 'IDEOGRAPHIC SPACE'],
  ['\ufe0f', 'VARIATION SELECTOR-16'],
  ['\ufeff', 'BYTE ORDER MARK'],
]);
