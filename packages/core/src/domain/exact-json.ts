import type { Issue, IssueCode } from '../contract/issue.ts';
import { ISSUES_MAX, jsonPointer } from '../contract/json-pointer.ts';

/**
 * Finds the parts of a JSON text that JSON.parse accepts but that cannot be stored or hashed exactly: repeated members, numbers that
 * are not exact, and halves of surrogate pairs. Used for texts that are hashed or that decisions depend on (docs/formats.md, "Canonical
 * JSON").
 *
 * @param text JSON that JSON.parse has accepted. The scan does not check the grammar.
 * @param numbers names of top-level members that must be numbers. In these members minus zero is not an issue, because it is read as zero
 *   (docs/decisions/0003). Elsewhere it is an issue, because the hashed text would lose the sign.
 * @returns the issues in the order of the text. The scan stops at ISSUES_MAX issues, but the last string can add one more.
 */
export function findInexactParts(text: string, numbers: ReadonlySet<string> = NO_NUMBERS): Issue[] {
  const scan = new Scan(text, { numbers, isLenient: false });
  scan.run();
  return scan.issues;
}

/**
 * The first part of a JSON text that changes when the text is parsed and written again: a repeated member, an integer that no double
 * represents, or a number outside the range of doubles. Lone surrogates, minus zero and rounded fractions do not count as differences.
 *
 * @param text JSON that JSON.parse has accepted.
 */
export function firstChangeByParsing(text: string): Issue | undefined {
  const scan = new Scan(text, { numbers: NO_NUMBERS, isLenient: true });
  scan.run();
  return scan.issues[0];
}

/** The first member of a JSON text that an object has twice; undefined if there is none. @param text JSON that JSON.parse has accepted. */
export function firstRepeatedMember(text: string): Issue | undefined {
  const scan = new Scan(text, { numbers: NO_NUMBERS, isLenient: true, ignoresNumbers: true });
  scan.run();
  return scan.issues[0];
}

const NO_NUMBERS: ReadonlySet<string> = new Set();

/** Replaces minus zero by zero, so that its sign is not stored, shown or signed. */
export const unsignedZero = (number: number): number => (number === 0 ? 0 : number);

/** The position in an open object or array. */
interface Frame {
  /** Member names seen so far; undefined in an array. */
  names: Set<string> | undefined;
  /** The name of the current member, NO_NAME_YET before a name, or the index of the current element. */
  step: string | number;
}

interface ScanOptions {
  /** See `findInexactParts`. */
  numbers: ReadonlySet<string>;
  /** Whether the scan ignores lone surrogates, minus zero and rounded fractions. */
  isLenient: boolean;
  /** Whether the scan ignores all numbers too, so that it finds only repeated members. Default: false. */
  ignoresNumbers?: boolean;
}

/** One pass over the text with an explicit stack, so that deep nesting cannot overflow the call stack. */
class Scan {
  readonly issues: Issue[] = [];
  readonly #text: string;
  readonly #options: ScanOptions;
  readonly #frames: Frame[] = [];
  #at = 0;

  constructor(text: string, options: ScanOptions) {
    this.#text = text;
    this.#options = options;
  }

  run(): void {
    const text = this.#text;
    while (this.#at < text.length && this.issues.length < ISSUES_MAX) {
      const char = text.charCodeAt(this.#at);
      if (char === 0x22) this.#string();
      else if (char === 0x7b || char === 0x5b) this.#open(char === 0x7b);
      else if (char === 0x7d || char === 0x5d) this.#close();
      else if (char === 0x2c) this.#comma();
      else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) this.#number();
      else this.#at += 1; // white space, a colon, or a letter of true, false, null
    }
  }

  #open(isObject: boolean): void {
    this.#frames.push({ names: isObject ? new Set() : undefined, step: isObject ? NO_NAME_YET : 0 });
    this.#at += 1;
  }

  #close(): void {
    this.#frames.pop();
    this.#at += 1;
  }

  #comma(): void {
    const frame = this.#frames.at(-1);
    if (frame !== undefined) frame.step = frame.names === undefined ? (frame.step as number) + 1 : NO_NAME_YET;
    this.#at += 1;
  }

  #string(): void {
    const start = this.#at;
    let hasEscapes = false;
    let at = start + 1;
    for (let char = this.#text.charCodeAt(at); char !== 0x22; char = this.#text.charCodeAt(at)) {
      if (char === 0x5c) {
        hasEscapes = true;
        at += 1;
      }
      at += 1;
    }
    this.#at = at + 1;
    const frame = this.#frames.at(-1);
    const isName = frame?.names !== undefined && frame.step === NO_NAME_YET;
    if (!isName && !hasEscapes) return; // UTF-8 cannot contain lone surrogates; only an escape can
    const value: string = hasEscapes ? JSON.parse(this.#text.slice(start, this.#at)) : this.#text.slice(start + 1, at);
    if (isName) this.#name(frame, value);
    if (hasEscapes && !this.#options.isLenient && !value.isWellFormed()) {
      this.#add(
        'lone_surrogate',
        `${isName ? 'the member name' : 'the string'} contains half of a surrogate pair; send whole characters`,
      );
    }
  }

  #name(frame: Frame, name: string): void {
    frame.step = name;
    if (frame.names?.has(name)) this.#add('repeated_member', `${JSON.stringify(name)} is given twice; give it once`);
    frame.names?.add(name);
  }

  #number(): void {
    const start = this.#at;
    while (isNumberChar(this.#text.charCodeAt(this.#at))) this.#at += 1;
    if (this.#options.ignoresNumbers === true) return;
    const literal = this.#text.slice(start, this.#at);
    if (isExact(literal)) return;
    const mustBeNumber = this.#frames.length === 1 && this.#options.numbers.has(String(this.#frames[0]?.step));
    if ((mustBeNumber || this.#options.isLenient) && isZero(literal)) return;
    if (this.#options.isLenient && isRounded(literal)) return;
    this.#add(
      'inexact_number',
      `the number ${literal.slice(0, 60)} is not exact: programs can read it differently; ${remedyOf(literal, mustBeNumber)}`,
    );
  }

  #add(code: IssueCode, message: string): void {
    // The path of an issue must be well-formed text, whatever the member name is.
    const path = jsonPointer(this.#frames.flatMap(({ step }) => (step === NO_NAME_YET ? [] : [step]))).toWellFormed();
    this.issues.push({ path, code, message: message.toWellFormed() });
  }
}

/** Marks an object whose next string is a member name. It is not a string, so no name equals it. */
const NO_NAME_YET = -1;

/** Characters of a number after its first: digits, sign, point, exponent. */
const isNumberChar = (char: number): boolean =>
  (char >= 0x30 && char <= 0x39) || char === 0x2e || char === 0x65 || char === 0x45 || char === 0x2b || char === 0x2d;

/** Whether the double of a literal prints as the same decimal with the same sign. Minus zero does not: its canonical form is 0. */
function isExact(literal: string): boolean {
  const number = Number(literal);
  if (!Number.isFinite(number) || Object.is(number, -0)) return false;
  const printed = String(number);
  if (printed === literal) return true;
  if (literal.length <= 16 && Number.isSafeInteger(number) && /^-?\d+$/.test(literal)) return true;
  const form = decimalForm(literal);
  const printedForm = decimalForm(printed);
  return (
    form.digits === printedForm.digits &&
    (form.digits === '' || (form.exponent === printedForm.exponent && form.isNegative === printedForm.isNegative))
  );
}

/** What to send instead of a number that is not exact. Fewer digits do not help if the number is outside the range of a double. */
function remedyOf(literal: string, mustBeNumber: boolean): string {
  if (isZero(literal)) return 'send 0, or send it as a string';
  const number = Number(literal);
  const isInRange = Number.isFinite(number) && number !== 0;
  if (mustBeNumber) return isInRange ? 'send it with fewer digits' : 'send a number in the range of a double';
  return isInRange ? 'send it as a string, or with fewer digits' : 'send it as a string';
}

/** Whether a literal has a fraction or an exponent, and only its last digits are lost. */
function isRounded(literal: string): boolean {
  const number = Number(literal);
  return /[.e]/i.test(literal) && Number.isFinite(number) && number !== 0;
}

const isZero = (literal: string): boolean => decimalForm(literal).digits === '';

/** The sign, the digits without zeros at either end, and the power of ten of the last digit. Zero has no digits. */
function decimalForm(literal: string): { isNegative: boolean; digits: string; exponent: number } {
  const isNegative = literal.startsWith('-');
  const [mantissa = '', exponent = '0'] = literal.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  let end = all.length;
  while (all.charCodeAt(end - 1) === 0x30) end -= 1; // The expression /0+$/ takes minutes on a megabyte of digits.
  const digits = all.slice(0, end);
  // If the exponent is too large for Number, the double is 0 or infinite. Then isExact does not depend on this exponent.
  return { isNegative, digits, exponent: Number(exponent) - fraction.length + all.length - digits.length };
}
