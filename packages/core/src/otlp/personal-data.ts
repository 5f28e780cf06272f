import { stringEnd } from '../domain/json-string.ts';
import { RULES } from './conventions/all.ts';
import { forEachText, type Signal } from './protobuf-bounds.ts';
import { type Attributes, type LogRecord, type SpanRecord, valuesOf } from './records.ts';

const USER_IDS = (RULES.get('external_user_id') ?? []).flatMap(({ from }) => from);

/**
 * Removes user IDs that are personal data from the attributes and resources of records. Returns these IDs, including those that a later
 * attribute with the same name replaced.
 * @param isPersonal whether a text contains an email address or is a telephone number.
 */
export function removePersonalIds(
  records: readonly (SpanRecord | LogRecord)[],
  isPersonal: (text: string) => boolean,
): Set<string> {
  const personalIds = new Set<string>();
  const searched = new Set<Attributes>();
  for (const { attributes, resource } of records) {
    for (const each of [attributes, resource]) {
      if (searched.has(each)) continue;
      searched.add(each);
      for (const name of USER_IDS) {
        for (const value of valuesOf(each, name)) {
          if (typeof value !== 'string' || !isPersonal(value)) continue;
          personalIds.add(value);
          if (value === each.get(name)) each.delete(name);
        }
      }
    }
  }
  return personalIds;
}

const ASTERISK = 0x2a;

/** Like the reader of protobuf, this decoder treats a byte order mark as a part of the text. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Overwrites the given texts in a protobuf body with asterisks, one for each byte, in place. A text is overwritten where it is the whole
 * text of a value. The body is read field by field, because a search through the raw bytes could overwrite bytes that only look like such
 * a text.
 */
export function maskInProtobuf(signal: Signal, body: Uint8Array, texts: ReadonlySet<string>): void {
  const encoder = new TextEncoder();
  const lengths = new Set([...texts].map((text) => encoder.encode(text).length));
  forEachText(signal, body, (start, end) => {
    if (lengths.has(end - start) && texts.has(decoder.decode(body.subarray(start, end)))) body.fill(ASTERISK, start, end);
  });
}

/**
 * Returns a JSON body in which every string value that equals one of the texts is replaced by asterisks. A lone surrogate in the body
 * matches U+FFFD in a text, because the reader of records replaces each lone surrogate by U+FFFD. The body is not parsed and serialized
 * again, because this could change its numbers.
 */
export function maskInJson(body: string, texts: ReadonlySet<string>): string {
  let result = '';
  let copiedEnd = 0;
  for (let start = body.indexOf('"'); start !== -1; ) {
    const end = stringEnd(body, start);
    const literal = body.slice(start, end);
    const text: string = literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1);
    if (texts.has(text.toWellFormed()) && !isMemberName(body, end)) {
      result += `${body.slice(copiedEnd, start)}"${'*'.repeat(text.length)}"`;
      copiedEnd = end;
    }
    start = body.indexOf('"', end);
  }
  return result + body.slice(copiedEnd);
}

/** Whether the string that ends at `end` is the name of a member. */
function isMemberName(body: string, end: number): boolean {
  let at = end;
  while (body[at]?.trim() === '') at += 1;
  return body[at] === ':';
}
