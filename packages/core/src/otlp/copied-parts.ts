import { type Attributes, MalformedExportError, type SpanRecord } from './records.ts';

/** The maximum size of the copies that the traces of an export contain, in characters of JSON. */
export const COPIED_CHARACTERS_MAX = 64 * 1024 * 1024;

/**
 * Checks the size of the parts of an export that its traces copy: each trace contains the attributes of its resource, and each span the name
 * of its scope. Without a limit, a body of a megabyte could become gigabytes.
 * @returns the records.
 * @throws MalformedExportError if the copies are too large.
 */
export function requireFewCopies(records: SpanRecord[]): SpanRecord[] {
  const tracesOf = new Map<Attributes, Set<string>>();
  const sizes = new Map<Attributes | string, number>();
  let characters = 0;
  const add = (part: Attributes | string): void => {
    const size = sizes.get(part) ?? JSON.stringify(typeof part === 'string' ? part : [...part]).length;
    sizes.set(part, size);
    characters += size;
  };
  for (const { traceId, resource, scope } of records) {
    add(scope);
    const traces = tracesOf.get(resource) ?? new Set<string>();
    tracesOf.set(resource, traces);
    if (!traces.has(traceId)) add(resource);
    traces.add(traceId);
    if (characters > COPIED_CHARACTERS_MAX) throw new MalformedExportError(TOO_LARGE, '');
  }
  return records;
}

const TOO_LARGE =
  'each trace repeats the attributes of its resource, and each span the name of its scope: together more than ' +
  `${COPIED_CHARACTERS_MAX} characters; send fewer traces or spans at once, or shorter attributes and names`;
