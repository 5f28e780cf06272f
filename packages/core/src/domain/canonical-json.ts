/**
 * JCS, the JSON Canonicalization Scheme (RFC 8785): one value, one text, in every language.
 * Throws on what JSON cannot hold (undefined, NaN, a lone surrogate) instead of dropping it under a hash.
 */
export class NotCanonicalError extends Error {
  override name = 'NotCanonicalError';
}

/**
 * The canonical text of a JSON value. Nesting must be bounded by the caller (it recurses).
 * What is in canonical order already, as everything is that was read from canonical text, is written by JSON.stringify in one go.
 */
export function canonicalJson(value: unknown): string {
  return quickText(value) ?? write(value, (member) => quickText(member) ?? write(member));
}

/** The canonical text, if JSON.stringify gives just that; undefined where it would drop, sort or escape something otherwise. */
function quickText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !isInCanonicalOrder(value)) return undefined;
  const text = JSON.stringify(value);
  // A lone surrogate is escaped so; a backslash before the letters ud looks the same, and goes the long way.
  return text.includes('\\ud') ? undefined : text;
}

/** Whether a plain object or array holds nothing but JSON, all members in canonical order. `for in` reads integer-like names first: then it is not. */
function isInCanonicalOrder(container: object): boolean {
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index += 1) if (!isJsonInOrder(container[index])) return false;
    return true;
  }
  if (!isPlain(container)) return false;
  let last: string | undefined;
  for (const name in container) {
    if ((last !== undefined && last >= name) || !isJsonInOrder((container as Record<string, unknown>)[name])) return false;
    last = name;
  }
  return true;
}

const isJsonInOrder = (value: unknown): boolean => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || isInCanonicalOrder(value);
    default:
      return false;
  }
};

function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}

/** @param member writes what a container holds. */
function write(value: unknown, member: (value: unknown) => string = write): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value);
    case 'number':
      return canonicalNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? canonicalArray(value, member) : canonicalObject(value as Record<string, unknown>, member);
    default:
      throw new NotCanonicalError(`JSON has no ${typeof value}`);
  }
}

/** Printable ASCII without the two characters that are escaped: it needs no more than its quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Longer texts are faster looked at by JSON.stringify. */
const PLAIN_LENGTH_MAX = 100;

/** JSON.stringify escapes exactly what RFC 8785, section 3.2.2.2 asks for; it would also escape lone surrogates. */
function canonicalString(text: string): string {
  if (text.length <= PLAIN_LENGTH_MAX && PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new NotCanonicalError('a lone surrogate has no UTF-8 form');
  return JSON.stringify(text);
}

/** ECMAScript's Number::toString is the form of RFC 8785, section 3.2.2.3; minus zero becomes 0. */
function canonicalNumber(number: number): string {
  if (!Number.isFinite(number)) throw new NotCanonicalError(`JSON has no ${number}`);
  return JSON.stringify(number);
}

/** By index, not by iteration: a hole in an array is undefined, and throws. */
function canonicalArray(items: unknown[], member: (value: unknown) => string): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ',';
    text += member(items[index]);
  }
  return text + ']';
}

/** Members sorted by UTF-16 code units (RFC 8785, section 3.2.3), which is what sort() does with strings, and `>=` compares by. */
function canonicalObject(object: Record<string, unknown>, member: (value: unknown) => string): string {
  if (!isPlain(object)) throw new NotCanonicalError('only plain objects have a canonical form');
  const names = Object.keys(object);
  if (!isSorted(names)) names.sort();
  let text = '{';
  for (const name of names) {
    if (text.length > 1) text += ',';
    text += canonicalName(name) + member(object[name]);
  }
  return text + '}';
}

function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1) if (names[index - 1]! >= names[index]!) return false;
  return true;
}

/** What comes before a member's value. Most names come again and again, in every entry of a ledger; those of senders are bounded. */
function canonicalName(name: string): string {
  let text = knownNames.get(name);
  if (text === undefined) {
    text = canonicalString(name) + ':';
    if (knownNames.size < NAMES_MAX && name.length <= NAME_LENGTH_MAX) knownNames.set(name, text);
  }
  return text;
}

const knownNames = new Map<string, string>();
const NAMES_MAX = 1000;
const NAME_LENGTH_MAX = 64;
