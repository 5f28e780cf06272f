import { NESTING_MAX } from './chain-report.ts';
import { inexactnessOf } from './exact-json.ts';

/**
 * Parses a line of an export or a signed document, or returns its fault. The input is untrusted.
 * @param what names the text in a fault.
 */
export function parseLine(text: string, what = 'the line'): { row: unknown } | { fault: string } {
  if (bracketsDeeperThan(text, NESTING_MAX)) return { fault: `${what} is nested deeper than ${NESTING_MAX}` };
  const parsed = parse(text, what);
  if ('fault' in parsed) return parsed;
  if (isExactly(parsed.row, text)) return parsed;
  // Readers could use either of two members with the same name, or round a number. One hash would then have two meanings.
  const [inexact] = inexactnessOf(text);
  if (inexact === undefined) return parsed;
  return { fault: inexact.path === '' ? inexact.message : `${inexact.message} (at ${inexact.path})` };
}

/**
 * Whether JSON.stringify of the value gives the same line, so that parsing lost nothing and no scan is needed. Lines of this service
 * pass. Lines that may contain half a surrogate pair are always scanned.
 */
const isExactly = (row: unknown, text: string): boolean => JSON.stringify(row) === text && !text.includes('\\ud');

/** Keeps a byte order mark, so that JSON.parse rejects it. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a line; undefined if it is not UTF-8. */
export function decodeUtf8(line: Uint8Array): string | undefined {
  try {
    return UTF8.decode(line);
  } catch {
    return undefined;
  }
}

function parse(text: string, what: string): { row: unknown } | { fault: string } {
  if (text.trim() === '') return { fault: `${what} is empty` };
  try {
    return { row: JSON.parse(text) };
  } catch (error) {
    return { fault: `${what} is not JSON: ${(error as Error).message}` };
  }
}

/** Whether brackets are nested deeper than `max`. This runs before parsing, because a line of brackets would become millions of objects. */
function bracketsDeeperThan(text: string, max: number): boolean {
  if (!hasMoreOpened(text, max)) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      if (depth > max) return true;
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return false;
}

/** Whether there are more than `max` opening brackets, also in strings. If not, the nesting is within the limit. */
function hasMoreOpened(text: string, max: number): boolean {
  let opened = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      opened += 1;
      if (opened > max) return true;
    }
  }
  return false;
}
