import { hash } from 'node:crypto';
import { OUTCOME_RANK } from '@countersign/core/domain/merged-trace';
import { type MappedTrace, mapTraces } from '@countersign/core/otlp/map-traces';
import type { SpanRecord } from '@countersign/core/otlp/records';
import { type ApiError, validationFailed } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import { SPAN_BYTES, traceBatchKey, traceFacts } from '../ingest/traces.ts';
import type { ExportRequest, PreparedExport, ReadExport, TraceOfExport } from './export.ts';
import { exportFacts, REDACTED } from './export-facts.ts';
import { logsOfFindings } from './prepare-logs.ts';
import { invalidExport, requireFewTraces, traceIdsOf } from './trace-limit.ts';

/**
 * Prepares an export of spans.
 * @throws ApiError if there are spans and none has valid IDs, if there are too many traces (trace-limit.ts), or if the tokens or costs of a
 * span or a trace add up to too large a number.
 */
export function prepareTraceExport(request: ExportRequest, read: ReadExport<SpanRecord>): PreparedExport {
  const valid = read.records.filter(({ traceId, spanId }) => traceId !== '' && spanId !== '');
  const rejected = read.records.length - valid.length;
  if (rejected > 0 && valid.length === 0) throw missingIds(read.records.length);
  requireFewTraces(read.records, 'spans');
  const mapped = mapTraces(valid);
  const traces = mapped.map((each) => traceOfExport(each, request.principal));
  const reasons = [
    ...(rejected > 0 ? [`Spans not added to runs because their trace_id or span_id is not valid: ${rejected}.`] : []),
    ...(read.isRedacted ? [REDACTED] : []),
    ...(read.missing === undefined ? [] : [read.missing]),
  ];
  const facts = exportFacts(request, read);
  const documentBytes = traces.reduce((sum, { document, spanCount }) => sum + document.length + spanCount * SPAN_BYTES, 0);
  return {
    ...facts,
    bytes: request.document.length + documentBytes,
    batchKeys: [facts.idempotency.key, ...traces.map(({ traceId }) => traceBatchKey(traceId))],
    traces,
    logs: mapped.flatMap(({ trace, findings }) => logsOfFindings(trace.trace_id, findings)),
    otherTraceIds: traceIdsOf(read.records.filter(({ spanId }) => spanId === '')),
    partialSuccess: { rejected, reasons },
  };
}

function traceOfExport(mapped: MappedTrace, principal: Principal): TraceOfExport {
  const facts = traceFacts(mapped.trace, principal);
  if ('tooLarge' in facts.totals) throw validationFailed(facts.totals.tooLarge);
  const { outcome } = mapped.trace;
  const document = Buffer.from(JSON.stringify(mapped.trace));
  return {
    ...facts,
    totals: facts.totals,
    agentRank: mapped.agentRank,
    provisionalAgentName: mapped.provisionalAgentName,
    isPartial: true,
    outcome: outcome ?? null,
    outcomeRank: outcome === undefined ? OUTCOME_RANK.none : OUTCOME_RANK.root,
    hasError: mapped.hasError,
    document,
    documentSha256: hash('sha256', document, 'hex'),
  };
}

const missingIds = (spans: number): ApiError =>
  invalidExport(`no span (of ${spans}) has a valid trace_id (16 bytes) and span_id (8 bytes); nothing was stored`);
