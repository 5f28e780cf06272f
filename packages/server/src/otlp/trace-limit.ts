import { ApiError } from '../errors/api-error.ts';

/**
 * The largest number of traces that the records of one export may belong to. Each trace adds rows and a part of one event of the trace log,
 * so an export of many traces delays other requests. Batches of exporters have fewer than 10,000 records.
 */
const TRACES_MAX = 10_000;

/** The valid trace_ids of records, each once. */
export const traceIdsOf = (records: readonly { traceId: string }[]): string[] => [
  ...new Set(records.flatMap(({ traceId }) => (traceId === '' ? [] : traceId))),
];

/**
 * Requires that the records belong to at most TRACES_MAX traces.
 * @param what the kind of the records, in the plural.
 * @throws ApiError if they belong to more traces.
 */
export function requireFewTraces(records: readonly { traceId: string }[], what: 'spans' | 'log records'): void {
  if (records.length <= TRACES_MAX) return;
  const traces = traceIdsOf(records).length;
  if (traces > TRACES_MAX)
    throw invalidExport(
      `the body has ${what} of ${traces} traces, and at most ${TRACES_MAX} are allowed; send fewer traces at once`,
    );
}

/** The error for an export that is rejected as a whole. */
export const invalidExport = (message: string): ApiError =>
  new ApiError('invalid_export', [{ path: '', code: 'not_otlp', message }]);
