// JCS, the JSON Canonicalization Scheme (RFC 8785): every implementation writes the same text for the same value.

/** Thrown if a value, or a part of it, has no canonical form, such as undefined, NaN or a lone surrogate. Nothing is silently dropped. */
export class NotCanonicalError extends Error {
  override name = 'NotCanonicalError';
}

/**
 * Returns the canonical text of a JSON value. The function is recursive, so the caller must limit the nesting. It is fastest if all members
 * are in canonical order already, for example after parsing canonical text: one call of JSON.stringify then writes the value.
 * @throws NotCanonicalError if the value has no canonical form
 */
export function canonicalJson(value: unknown): string {
  return quickText(value) ?? write(value, (member) => quickText(member) ?? write(member));
}

/** The result of JSON.stringify for an object or array, if it is known to be canonical; otherwise undefined. */
function quickText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !isInCanonicalOrder(value)) return undefined;
  const text = JSON.stringify(value);
  // JSON.stringify escapes a lone surrogate with this text. A real backslash before "ud" matches too and takes the slow path.
  return text.includes('\\ud') ? undefined : text;
}

/** Whether a plain object or array contains only JSON, with all members in canonical order. `for in` has the order of JSON.stringify. */
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

/** The canonical text of any value. @param writeMember writes the members of an object and the items of an array. */
function write(value: unknown, writeMember: (value: unknown) => string = write): string {
  switch (typeof value) {
    case 'string':
      return canonicalString(value);
    case 'number':
      return canonicalNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value)
        ? canonicalArray(value, writeMember)
        : canonicalObject(value as Record<string, unknown>, writeMember);
    default:
      throw new NotCanonicalError(`JSON has no ${typeof value}`);
  }
}

/** Printable ASCII without quotation marks and backslashes. Such a text needs no escapes. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
/** For longer texts isWellFormed and JSON.stringify are faster than the regular expression. */
const PLAIN_LENGTH_MAX = 100;

/** JSON.stringify escapes exactly as RFC 8785, section 3.2.2.2 requires, except for lone surrogates. */
function canonicalString(text: string): string {
  if (text.length <= PLAIN_LENGTH_MAX && PLAIN_TEXT.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new NotCanonicalError('a lone surrogate has no UTF-8 form');
  return JSON.stringify(text);
}

/** ECMAScript's Number::toString is the form of RFC 8785, section 3.2.2.3; minus zero becomes 0. */
function canonicalNumber(number: number): string {
  if (!Number.isFinite(number)) throw new NotCanonicalError(`JSON has no ${number}`);
  return JSON.stringify(number);
}

/** Reads the items by index: methods such as map() would skip a hole, which is undefined and must throw. */
function canonicalArray(items: unknown[], writeMember: (value: unknown) => string): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ',';
    text += writeMember(items[index]);
  }
  return text + ']';
}

/** Sorts members by UTF-16 code units (RFC 8785, section 3.2.3), the order of sort() and `>=` for strings. */
function canonicalObject(object: Record<string, unknown>, writeMember: (value: unknown) => string): string {
  if (!isPlain(object)) throw new NotCanonicalError('only plain objects have a canonical form');
  const names = Object.keys(object);
  if (!isSorted(names)) names.sort();
  let text = '{';
  for (const name of names) {
    if (text.length > 1) text += ',';
    text += canonicalName(name) + writeMember(object[name]);
  }
  return text + '}';
}

function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1) if (names[index - 1]! >= names[index]!) return false;
  return true;
}

/** The text before a member's value: its name and a colon. The same names occur in every record, so up to NAMES_MAX of them are cached. */
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
