/** Most JSON values and different member names that a body may hold. Both set the time and memory of parsing, far more than its bytes do. */
export interface JsonBounds {
  valuesMax: number;
  /** Different names, in the whole body. */
  namesMax: number;
}

/**
 * Which bound a JSON text exceeds, counted in its bytes before anything is parsed. Stops at the first one.
 *
 * Values are counted by their separators: each comma, each opening bracket and each opening brace counts one, so an empty list or object
 * counts twice. Names are told apart by a hash, so the count is a close estimate from below.
 * @param document UTF-8; it need not be JSON. What is not is found by the parser.
 * @param seed any number that senders do not know: names cannot be chosen so that they fall together.
 */
export function exceededBound(
  document: Uint8Array,
  { valuesMax, namesMax }: JsonBounds,
  seed: number,
): keyof JsonBounds | undefined {
  const seen = new Uint8Array(SEEN_BITS / 8);
  let values = 1;
  let names = 0;
  let lastString = 0;
  for (let at = 0; at < document.length; at += 1) {
    const byte = document[at]!;
    if (byte === QUOTE) {
      const end = stringEnd(document, at);
      lastString = hashOf(document, at + 1, end, seed);
      at = end;
    } else if (byte === COMMA || byte === BRACKET || byte === BRACE) {
      values += 1;
      if (values > valuesMax) return 'valuesMax';
    } else if (byte === COLON) {
      const bit = 1 << (lastString & 7);
      const place = (lastString >>> 3) % seen.length;
      if ((seen[place]! & bit) !== 0) continue;
      seen[place]! |= bit;
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
/** Twenty times the names of the largest bound: few fall together. */
const SEEN_BITS = 1 << 22;
/** Bytes of a string that tell it apart, besides its length. Longer names that differ behind them are too few to matter. */
const HASHED_BYTES = 64;

/** Where the string ends that begins at this quote: at its other quote, or at the end of the text. */
function stringEnd(document: Uint8Array, start: number): number {
  const near = Math.min(document.length, start + HASHED_BYTES);
  for (let at = start + 1; at < near; at += 1) {
    if (document[at] === QUOTE) return at;
    if (document[at] === BACKSLASH) at += 1;
  }
  // A long string: the next quote is looked for natively. It ends the string unless an odd number of backslashes stands before it.
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
  const hashedEnd = Math.min(end, start + HASHED_BYTES);
  for (let at = start; at < hashedEnd; at += 1) hash = Math.imul(hash ^ document[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
