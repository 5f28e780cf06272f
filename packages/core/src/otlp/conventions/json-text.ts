import { isNestedDeeperThan } from '../../domain/nesting.ts';
import type { Value } from '../records.ts';

/** Maximum depth of JSON in an attribute. Deeper JSON stays text. */
const JSON_DEPTH_MAX = 100;

/**
 * The maximum number of counted values in the JSON texts of an export. A text that would exceed it stays text. Values are counted only
 * after the texts of the export together have twice as many characters as this number. The texts before that have at most 1,333,333
 * values, so an export can have up to 2,333,333 parsed values.
 */
export const JSON_TEXT_VALUES_MAX = 1_000_000;

/** The size of the JSON texts parsed so far. */
interface ParsedSize {
  /** The characters of the texts whose values were not counted. */
  characters: number;
  /** The values of the other texts. */
  values: number;
}

/** The size of the texts parsed by the current call of `withParseLimit`. Mapping is synchronous, so at most one call is active. */
let currentSize: ParsedSize | undefined;

/** Runs work, and limits the number of values in all JSON texts that it parses. A nested call shares the limit of the outer call. */
export function withParseLimit<T>(work: () => T): T {
  const outer = currentSize;
  currentSize ??= { characters: 0, values: 0 };
  try {
    return work();
  } finally {
    currentSize = outer;
  }
}

/** Parses a text that is a JSON object or array. Returns other values unchanged, including JSON that is too deep or has too many values. */
export function fromJson(value: Value): Value {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value) || !addIfWithinLimit(value)) return value;
  try {
    const parsed = JSON.parse(value) as Value;
    return isNestedDeeperThan(parsed, JSON_DEPTH_MAX) ? value : parsed;
  } catch {
    return value;
  }
}

/** Like `fromJson`, but also parses a text that is a JSON string. */
export function fromJsonOrString(value: Value): Value {
  if (typeof value !== 'string' || !/^\s*"/.test(value)) return fromJson(value);
  try {
    return JSON.parse(value) as Value;
  } catch {
    return value;
  }
}

/** Whether a text may be parsed. If so, adds its size to the size of the texts parsed so far. */
function addIfWithinLimit(text: string): boolean {
  const parsed = currentSize ?? { characters: 0, values: 0 };
  // A text has at most two values per three characters, as in `[1]`. So the values of texts within this limit need not be counted.
  if (parsed.characters + text.length <= 2 * JSON_TEXT_VALUES_MAX) {
    parsed.characters += text.length;
    return true;
  }
  const values = countValues(text, JSON_TEXT_VALUES_MAX - parsed.values);
  if (values === undefined) return false;
  parsed.values += values;
  return true;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/** The approximate number of values in a text that may be JSON, by its commas and opening brackets; undefined above `valuesMax`. */
function countValues(text: string, valuesMax: number): number | undefined {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      for (at += 1; at < text.length && text.charCodeAt(at) !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
    } else if (char === COMMA || char === BRACKET || char === BRACE) {
      values += 1;
      if (values > valuesMax) return undefined;
    }
  }
  return values;
}
