import { type OperationId, operations } from '@countersign/core/contract/operations';
import { endpoints } from '../ingest/endpoints.ts';
import type { IngestRequest } from '../ingest/ingest-request.ts';
import type { ExportRequest, PreparedExport } from '../otlp/export.ts';
import { prepareLogExport } from '../otlp/prepare-logs.ts';
import { prepareMetricsExport } from '../otlp/prepare-metrics.ts';
import { prepareTraceExport } from '../otlp/prepare-traces.ts';
import { countPoints, readLogs, readSpans } from './read-export.ts';
import { bodyReader } from './validate-body.ts';

const readers = Object.fromEntries(
  Object.entries(operations).map(([id, operation]) => [id, bodyReader<unknown>(operation as never)]),
) as Record<OperationId, (document: Buffer) => unknown>;

/** Parses, validates and prepares a body: all steps before the database. Runs on the main thread or on the worker thread. */
export const prepareBody = (id: OperationId, request: IngestRequest): unknown =>
  endpoints[id].prepare(request, readers[id](request.document));

/** Decodes, maps and prepares an export: all steps before the database. Runs on the main thread or on the worker thread. */
export function prepareExport(request: ExportRequest): PreparedExport {
  switch (request.signal) {
    case 'traces':
      return prepareTraceExport(request, readSpans(request));
    case 'logs':
      return prepareLogExport(request, readLogs(request));
    case 'metrics':
      return prepareMetricsExport(request, countPoints(request));
  }
}
