import { type Attributes, MalformedExportError, type SpanRecord } from './records.ts';

/** The maximum size of the copies, in characters of JSON for each byte of the body of an export. */
const COPIED_CHARACTERS_PER_BYTE_MAX = 64;
/** Copies of up to this many characters are always accepted. */
const ALWAYS_ACCEPTED_CHARACTERS_MAX = 1024 * 1024;
/** Copies of more characters than this are never accepted. */
const COPIED_CHARACTERS_MAX = 64 * 1024 * 1024;

/**
 * Limits the size of copies. An export contains the attributes of a resource once, but mapping copies them into each of its traces. Mapping
 * also copies the name of a scope into each of its spans. Without a limit, a body of a megabyte could become gigabytes. Small bodies are
 * mapped on the main thread of the server, so their limit is lower.
 * @param bodyBytes the size of the body of the export.
 * @returns the records.
 * @throws MalformedExportError if the copies are too large.
 */
export function requireFewCopies(records: SpanRecord[], bodyBytes: number): SpanRecord[] {
  const charactersMax = Math.min(
    COPIED_CHARACTERS_MAX,
    Math.max(ALWAYS_ACCEPTED_CHARACTERS_MAX, bodyBytes * COPIED_CHARACTERS_PER_BYTE_MAX),
  );
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
    if (characters > charactersMax) throw new MalformedExportError(tooLargeMessage(charactersMax), '');
  }
  return records;
}

const tooLargeMessage = (charactersMax: number): string =>
  'each trace repeats the attributes of its resource, and each span the name of its scope: together more than ' +
  `${charactersMax} characters; send fewer traces or spans at once, or shorter attributes and names`;
