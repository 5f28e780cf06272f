/** Limits of a JSON body. The time and memory of parsing depend more on these numbers than on the number of bytes. */
export interface JsonBounds {
  /** The maximum number of values, of all kinds and at all levels. */
  valuesMax: number;
  /** The maximum number of different member names in the whole body. */
  namesMax: number;
}

/**
 * Returns the first limit that a JSON text exceeds; undefined if it exceeds none. The function scans the bytes and does not parse them.
 *
 * Values are counted by their separators: each comma, opening bracket and opening brace counts as one value, so an empty list or
 * object counts as two. Names are compared by a hash, so the number of names can be slightly too low.
 * @param document JSON in UTF-8. Invalid JSON is not detected here.
 * @param seed a random number that senders do not know, so that they cannot choose names with equal hashes.
 */
export function exceededBound(
  document: Uint8Array,
  { valuesMax, namesMax }: JsonBounds,
  seed: number,
): keyof JsonBounds | undefined {
  const foundNames = new Uint8Array(NAME_HASHES / 8);
  let values = 1;
  let names = 0;
  // The last string. It is hashed only if a colon follows, because then it is a name.
  let nameStart = 0;
  let nameEnd = 0;
  for (let at = 0; at < document.length; at += 1) {
    const byte = document[at]!;
    if (byte === QUOTE) {
      nameStart = at + 1;
      nameEnd = stringEnd(document, at);
      at = nameEnd;
    } else if (byte === COMMA || byte === BRACKET || byte === BRACE) {
      values += 1;
      if (values > valuesMax) return 'valuesMax';
    } else if (byte === COLON) {
      const nameHash = hashOf(document, nameStart, nameEnd, seed);
      nameStart = nameEnd; // Text that is not JSON can have many colons after one long string.
      const bit = 1 << (nameHash & 7);
      const byteIndex = (nameHash >>> 3) % foundNames.length;
      if ((foundNames[byteIndex]! & bit) !== 0) continue;
      foundNames[byteIndex]! |= bit;
      names += 1;
      if (names > namesMax) return 'namesMax';
    }
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;
/** The number of hash values: forty times the largest limit of names, so that collisions are rare. */
const NAME_HASHES = 1 << 22;
/** How many bytes of a string are searched for its end one by one. The end of a longer string is found faster with indexOf. */
const SHORT_STRING_BYTES = 64;

/** The end of the string that starts at this quote: its closing quote, or the end of the text. */
function stringEnd(document: Uint8Array, start: number): number {
  const near = Math.min(document.length, start + SHORT_STRING_BYTES);
  for (let at = start + 1; at < near; at += 1) {
    if (document[at] === QUOTE) return at;
    if (document[at] === BACKSLASH) at += 1;
  }
  // In a long string, indexOf finds the next quote faster. This quote ends the string unless an odd number of backslashes precedes it.
  for (let from = near; ; ) {
    const quote = document.indexOf(QUOTE, from);
    if (quote < 0) return document.length;
    let backslashes = 0;
    while (document[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

function hashOf(document: Uint8Array, start: number, end: number, seed: number): number {
  let hash = seed ^ (end - start);
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ document[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
