import { NESTING_MAX } from './chain-report.ts';
import { findInexactParts } from './exact-json.ts';

/**
 * Parses a line of an export, or a signed document. Returns the value, or the fault. The text is untrusted. Deeper nesting than
 * NESTING_MAX, repeated members, inexact numbers and lone surrogates are faults.
 * @param textName the name of the text, for the fault.
 */
export function parseLine(text: string, textName = 'the line'): { value: unknown } | { fault: string } {
  if (isTextNestedDeeperThan(text, NESTING_MAX)) return { fault: `${textName} is nested deeper than ${NESTING_MAX}` };
  const parsed = parse(text, textName);
  if ('fault' in parsed) return parsed;
  if (isKnownExact(parsed.value, text)) return parsed;
  // JSON parsers differ on which of two members with the same name they keep, and on inexact numbers. So they could read different values
  // from one hashed text.
  const [inexact] = findInexactParts(text);
  if (inexact === undefined) return parsed;
  // The last clause of the message is a remedy for senders, which does not apply to a stored text.
  const fault = inexact.message.slice(0, inexact.message.lastIndexOf('; '));
  return { fault: inexact.path === '' ? fault : `${fault} (at ${inexact.path})` };
}

/**
 * Whether JSON.stringify of the value gives the same text. If so, parsing lost nothing, and no scan is needed. This is true of most lines
 * that this service wrote. A text that may contain half of a surrogate pair is always scanned.
 */
const isKnownExact = (value: unknown, text: string): boolean => JSON.stringify(value) === text && !text.includes('\\ud');

/** This decoder keeps a byte order mark, so JSON.parse rejects a text that starts with one. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the text of a line; undefined if it is not UTF-8. */
export function decodeUtf8(line: Uint8Array): string | undefined {
  try {
    return UTF8.decode(line);
  } catch {
    return undefined;
  }
}

function parse(text: string, textName: string): { value: unknown } | { fault: string } {
  if (text.trim() === '') return { fault: `${textName} is empty` };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `${textName} is not JSON: ${(error as Error).message}` };
  }
}

/** Whether a text is nested deeper than `max`. Checked before parsing, because a line of brackets would become millions of objects. */
function isTextNestedDeeperThan(text: string, max: number): boolean {
  if (!hasMoreOpeningBrackets(text, max)) return false;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (isInString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) isInString = false;
    } else if (char === 0x22) isInString = true;
    else if (char === 0x7b || char === 0x5b) {
      depth += 1;
      if (depth > max) return true;
    } else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return false;
}

/** Whether a text has more than `max` opening brackets, including those in strings. If not, its nesting is within the limit. */
function hasMoreOpeningBrackets(text: string, max: number): boolean {
  let openingCount = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      openingCount += 1;
      if (openingCount > max) return true;
    }
  }
  return false;
}
