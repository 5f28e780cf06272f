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

/** Bodies up to this size are parsed on the main thread, uncounted. Larger ones are counted and parsed on the worker thread. */
export const SMALL_BODY_BYTES_MAX = 64 * 1024;

/**
 * Heap limit of the worker thread. V8 may end the whole process when a thread reaches its limit, so no body within the bounds may come near it:
 * at least twice what the worst one needs.
 */
export const WORKER_HEAP_MB = 768;
