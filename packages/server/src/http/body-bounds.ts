import type { JsonBounds } from '@countersign/core/domain/json-size';

/**
 * Most values and different names of a body, by what the body is for. They bound the time and the heap that parsing takes: decision 0037
 * has the measurement, and `WORKER_HEAP_MB` follows from it. An honest trace of 18 MB holds some 500,000 values.
 */
export const BODY_BOUNDS = {
  report: { valuesMax: 1_000_000, namesMax: 100_000 },
  record: { valuesMax: 100_000, namesMax: 10_000 },
  portal: { valuesMax: 50_000, namesMax: 5_000 },
} as const satisfies Record<string, JsonBounds>;

/** Bodies up to this size are light whatever they hold. */
const SMALL_BODY_BYTES_MAX = 64 * 1024;

/** Beyond this size none is light. */
const LIGHT_BODY_BYTES_MAX = 256 * 1024;

/** Most separators of a light body that is not small: fewer than any bound above, and what a small body may hold at worst is ten times that. */
const LIGHT_SEPARATORS_MAX = 5_000;

/**
 * Whether a body is parsed on the main thread, uncounted: it is small, or of middle size with few values, like a batch of telemetry. All
 * others are counted, and parsed on the worker thread. Separators in strings count too, which errs towards the worker.
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
 * Heap limit of the worker thread. V8 may end the whole process when a thread reaches its limit, so no body within the bounds may come near it:
 * at least twice what the worst one needs.
 */
export const WORKER_HEAP_MB = 768;
