import { hash } from 'node:crypto';
import { OUTCOME_RANK } from '@countersign/core/domain/merged-trace';
import { type MappedTrace, mapTraces } from '@countersign/core/otlp/map-traces';
import type { SpanRecord } from '@countersign/core/otlp/records';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import type { Principal } from '../ingest/ingest-request.ts';
import { SPAN_BYTES, traceBatchKey, traceFacts } from '../ingest/traces.ts';
import type { ExportRequest, PreparedExport, ReadExport, TraceOfExport } from './export.ts';
import { exportFacts, REDACTED } from './export-facts.ts';
import { logsOfFindings, traceIdsOf } from './prepare-logs.ts';

/**
 * The largest number of traces in an export. Each is a row and a part of one event of the trace log, so an export of many traces delays
 * other requests. Batches of exporters have fewer than 10,000 spans.
 */
const TRACES_MAX = 10_000;

/**
 * Prepares an export of spans.
 * @throws ApiError if there are spans and none has valid IDs, if there are more than TRACES_MAX traces, or if the tokens or costs of a span
 * or a trace add up to too large a number.
 */
export function prepareTraceExport(request: ExportRequest, read: ReadExport<SpanRecord>): PreparedExport {
  const valid = read.records.filter(({ traceId, spanId }) => traceId !== '' && spanId !== '');
  const rejected = read.records.length - valid.length;
  if (rejected > 0 && valid.length === 0) throw withoutIds(read.records.length);
  if (valid.length > TRACES_MAX) requireFewTraces(valid);
  const mapped = mapTraces(valid);
  const traces = mapped.map((each) => traceOfExport(each, request.principal));
  const reasons = [
    ...(rejected > 0 ? [`Spans not added to runs because their trace_id or span_id is not valid: ${rejected}.`] : []),
    ...(read.isRedacted ? [REDACTED] : []),
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

function requireFewTraces(spans: readonly SpanRecord[]): void {
  const traces = traceIdsOf(spans).length;
  if (traces > TRACES_MAX)
    throw notOtlp(`the body has spans of ${traces} traces, and at most ${TRACES_MAX} are allowed; send less at once`);
}

const withoutIds = (spans: number): ApiError =>
  notOtlp(`no span (of ${spans}) has a valid trace_id (16 bytes) and span_id (8 bytes); nothing was stored`);

const notOtlp = (message: string): ApiError => new ApiError('invalid_export', [{ path: '', code: 'not_otlp', message }]);
