import type { JsonBounds } from '@countersign/core/domain/json-size';

/**
 * The maximum number of values and different names in a body, by its purpose. These maximums limit the time and heap of parsing.
 * `WORKER_HEAP_MB` depends on them (docs/decisions/0037). A real trace of 17 MB has about 500,000 values.
 */
export const BODY_BOUNDS = {
  report: { valuesMax: 1_000_000, namesMax: 100_000 },
  record: { valuesMax: 100_000, namesMax: 10_000 },
  portal: { valuesMax: 50_000, namesMax: 5_000 },
} as const satisfies Record<string, JsonBounds>;

/** Bodies up to this size are always light (`isLight`). */
const SMALL_BODY_BYTES_MAX = 64 * 1024;

/** Larger bodies are never light. */
const LIGHT_BODY_BYTES_MAX = 256 * 1024;

/**
 * The maximum number of separators in a light body of more than SMALL_BODY_BYTES_MAX. It does not exceed any limit in `BODY_BOUNDS`. A
 * smaller body may have more: up to about 44,000 outside strings, if it is valid JSON.
 */
const LIGHT_SEPARATORS_MAX = 5_000;

/**
 * Whether a body is parsed without counting its values and names first. Such a body is small, or of medium size with few separators, like a
 * batch of telemetry. The ingestion endpoints parse such bodies on the main thread, and others on the worker thread. Separators in strings
 * count too, so a body with long texts may go to the worker.
 */
export function isLight(document: Uint8Array): boolean {
  if (document.length <= SMALL_BODY_BYTES_MAX) return true;
  if (document.length > LIGHT_BODY_BYTES_MAX) return false;
  let separators = 0;
  for (let at = 0; at < document.length; at += 1) {
    const byte = document[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) separators += 1;
  }
  return separators <= LIGHT_SEPARATORS_MAX;
}

const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/**
 * Heap limit of the worker thread: six times what the costliest measured body within the limits needs (docs/decisions/0037). V8 may end
 * the whole process if a thread reaches its heap limit.
 */
export const WORKER_HEAP_MB = 768;
