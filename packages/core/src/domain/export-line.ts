import { NESTING_MAX } from './chain-report.ts';
import { inexactnessOf } from './exact-json.ts';

/**
 * The JSON value of an export's line or of a signed document, or what is wrong with the text. Every byte of it is taken as hostile.
 * @param what names the text in a fault.
 */
export function parseLine(text: string, what = 'the line'): { row: unknown } | { fault: string } {
  if (bracketsDeeperThan(text, NESTING_MAX)) return { fault: `${what} is nested deeper than ${NESTING_MAX}` };
  const parsed = parse(text, what);
  if ('fault' in parsed) return parsed;
  if (isExactly(parsed.row, text)) return parsed;
  // A reader may take the other one of two members, or show the number that was rounded away: one hash, two meanings.
  const [inexact] = inexactnessOf(text);
  if (inexact === undefined) return parsed;
  return { fault: inexact.path === '' ? inexact.message : `${inexact.message} (at ${inexact.path})` };
}

/**
 * Whether a line says just what was parsed of it: then nothing was lost, and no scan is needed. Lines that we write do. Half a surrogate
 * pair is escaped alike on both sides, so whatever looks like one is scanned.
 */
const isExactly = (row: unknown, text: string): boolean => JSON.stringify(row) === text && !text.includes('\\ud');

/** A byte order mark is kept, and is then no JSON. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a line; undefined when it is not UTF-8. */
export function decoded(line: Uint8Array): string | undefined {
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

/** Before the text is parsed: a line of brackets alone would become millions of objects. */
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

/** Whether more than `max` brackets are opened anywhere, in strings too: fewer cannot be nested deeper, and are found quickly. */
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
