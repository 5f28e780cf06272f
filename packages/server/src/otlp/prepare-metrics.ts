import { recordedByKey } from '../ingest/ingest-request.ts';
import type { ExportRequest, PreparedExport } from './export.ts';

const NOT_STORED = 'Metrics are not stored here; set OTEL_METRICS_EXPORTER=none.';

/**
 * Prepares an export of metrics, which many exporters send by default. The metrics are not stored, and all data points count as rejected.
 * The message to the sender says how to stop sending metrics.
 */
export const prepareMetricsExport = (
  { signal, mediaType, principal, document }: ExportRequest,
  { points, missing }: { points: number; missing?: string },
): PreparedExport => ({
  signal,
  mediaType,
  isRedacted: false,
  recordedBy: recordedByKey(principal),
  idempotency: undefined,
  bytes: document.length,
  batchKeys: [],
  traces: [],
  logs: [],
  otherTraceIds: [],
  partialSuccess: {
    rejected: points,
    reasons: [...(points === 0 ? [] : [NOT_STORED]), ...(missing === undefined ? [] : [missing])],
  },
});
