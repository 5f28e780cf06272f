import { stringEnd } from '@countersign/core/domain/json-string';

/** A part of a text, from `start` to before `end`. */
interface Range {
  start: number;
  end: number;
}

/**
 * Returns the document of a telemetry request with null in place of some events, so that the other events keep their positions. If the
 * member `events` is repeated, null also replaces all values except the last one. The rest of the text is not changed: parsing it and
 * serializing it again would change numbers that a double cannot represent, and lose repeated members.
 * @param document valid JSON with a list of events.
 * @param ordinals the positions of the events.
 */
export function withoutEvents(document: string, ordinals: readonly number[]): string {
  const lists = eventLists(document);
  const erasedOrdinals = new Set(ordinals);
  // Of repeated members `events`, only the last one was validated. The others can contain anything, so they are replaced completely.
  const ranges = [
    ...lists.slice(0, -1).map(({ value }) => value),
    ...(lists.at(-1)?.elements ?? []).filter((_, ordinal) => erasedOrdinals.has(ordinal)),
  ];
  let text = '';
  let copiedLength = 0;
  for (const { start, end } of ranges) {
    text += `${document.slice(copiedLength, start)}null`;
    copiedLength = end;
  }
  return text + document.slice(copiedLength);
}

/** The values of the top-level members `events`, each with its elements, in the order of the text. */
function eventLists(text: string): { value: Range; elements: Range[] }[] {
  const lists: { value: Range; elements: Range[] }[] = [];
  let depth = 0;
  let lastString = '""';
  let name = '';
  let valueStart = 0;
  let elementStart = 0;
  let elements: Range[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const end = stringEnd(text, at);
      if (depth === 1) lastString = text.slice(at, end);
      at = end - 1;
    } else if (char === ':' && depth === 1) {
      name = JSON.parse(lastString);
      valueStart = at + 1;
      elements = [];
    } else if (char === '{' || char === '[') {
      depth += 1;
      if (depth === 2) elementStart = at + 1;
    } else if (char === ',' || char === '}' || char === ']') {
      if (depth === 2) elements.push(trimmedRange(text, elementStart, at));
      if (depth === 2) elementStart = at + 1;
      if (depth === 1 && name === 'events') lists.push({ value: trimmedRange(text, valueStart, at), elements });
      if (char !== ',') depth -= 1;
    }
  }
  return lists;
}

/** The part of a text without white space at its ends. */
function trimmedRange(text: string, from: number, to: number): Range {
  const part = text.slice(from, to);
  const start = from + part.length - part.trimStart().length;
  return { start, end: start + part.trim().length };
}
