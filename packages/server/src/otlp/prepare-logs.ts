import { hash } from 'node:crypto';
import type { Finding } from '@countersign/core/otlp/findings';
import { type MappedLog, mapLogs } from '@countersign/core/otlp/map-logs';
import type { LogRecord } from '@countersign/core/otlp/records';
import type { ExportRequest, LogOfExport, PreparedExport, ReadExport } from './export.ts';
import { exportFacts, REDACTED } from './export-facts.ts';
import { requireFewTraces, traceIdsOf } from './trace-limit.ts';

/** The approximate memory of a log record in addition to its document, in bytes. */
const RECORD_BYTES = 300;

const NOT_ADDED =
  'Only GenAI content, exceptions and evaluation results of spans are added to runs. If the export has such records, its stored body also contains the other log records.';

/**
 * Prepares an export of log records. Records that are not added to runs (`NOT_ADDED`) are counted as rejected. Throws like
 * `requireFewTraces`.
 */
export function prepareLogExport(request: ExportRequest, read: ReadExport<LogRecord>): PreparedExport {
  requireFewTraces(read.records, 'log records');
  const mapped = mapLogs(read.records);
  const rejected = read.records.length - mapped.length;
  const logs = mapped.map(logOfExport);
  const facts = exportFacts(request, read);
  return {
    ...facts,
    bytes: request.document.length + logs.reduce((sum, { document }) => sum + document.length + RECORD_BYTES, 0),
    batchKeys: [facts.idempotency.key],
    traces: [],
    logs,
    otherTraceIds: traceIdsOf(read.records),
    partialSuccess: {
      rejected,
      reasons: [
        ...(rejected > 0 ? [NOT_ADDED] : []),
        ...(read.isRedacted ? [REDACTED] : []),
        ...(read.missing === undefined ? [] : [read.missing]),
      ],
    },
  };
}

/** The findings in events of spans, as log records. */
export const logsOfFindings = (
  traceId: string,
  findings: readonly { spanId: string; time: bigint | undefined; finding: Finding }[],
): LogOfExport[] =>
  findings.map(({ spanId, time, finding }, place) =>
    logOfExport({ traceId, spanId, time, kind: 'finding', document: JSON.stringify(finding) }, place),
  );

const logOfExport = ({ traceId, spanId, kind, time, document }: MappedLog, place: number): LogOfExport => ({
  traceId,
  spanId,
  kind,
  happenedAt: time === undefined ? null : time / 1000n,
  place,
  sha256: hash('sha256', `${kind}\n${time ?? ''}\n${document}`, 'hex'),
  document,
});
