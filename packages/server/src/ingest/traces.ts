import { hash } from 'node:crypto';
import type { Issue } from '@countersign/core/contract/issue';
import type { Trace } from '@countersign/core/contract/trace';
import { agentClaim } from '@countersign/core/domain/agent-claim';
import { parseDateTime } from '@countersign/core/domain/instant';
import { OUTCOME_RANK } from '@countersign/core/domain/merged-trace';
import { SumTooLargeError, suppliedUsage, traceTotals, type Usage, usageOfSpans } from '@countersign/core/domain/usage';
import { AGENT_RANK } from '@countersign/core/otlp/agent-rank';
import { validationFailed } from '../errors/api-error.ts';
import { factsOfSpan, spansText } from '../storage/spans.ts';
import type { Endpoint } from './endpoint.ts';
import { type IngestRequest, recordedByKey } from './ingest-request.ts';
import type { PreparedTrace } from './prepared-trace.ts';
import { idempotencyOf } from './replays.ts';
import { sumTooLarge, withSums } from './sum-too-large.ts';

/** POST /api/public/traces: stores the summary of a run and its ordered spans, or merges them into the stored trace. */
export const ingestTrace: Endpoint<Trace, PreparedBody> = {
  prepare: prepareTrace,
  submit: ({ traces }, { principal, document }, prepared) => {
    const totals = 'tooLarge' in prepared.totals ? validationFailed(prepared.totals.tooLarge) : prepared.totals;
    return traces.submit(principal.tenantId, { ...prepared, totals, document });
  },
};

/** A prepared trace without its bytes. If its totals are too large, they are an Issue: an ApiError would not survive a structured clone. */
type PreparedBody = Omit<PreparedTrace, 'document' | 'totals'> & { totals: Usage | { tooLarge: Issue } };

/** The approximate memory of a span's facts in addition to the document, in bytes. */
export const SPAN_BYTES = 300;

function prepareTrace(request: IngestRequest, trace: Trace): PreparedBody {
  const { idempotency, batchKeys } = idempotencyOf(request);
  return {
    ...traceFacts(trace, request.principal),
    bytes: request.document.length + (trace.spans?.length ?? 0) * SPAN_BYTES,
    idempotency,
    documentSha256: idempotency?.bodySha256 ?? hash('sha256', request.document, 'hex'),
    batchKeys: [...batchKeys, traceBatchKey(trace.trace_id)],
    outcome: trace.outcome ?? 'success',
    outcomeRank: trace.outcome == null ? OUTCOME_RANK.default : OUTCOME_RANK.sent,
  };
}

/** The batch key of a trace: two requests for the same trace are never written in the same batch. */
export const traceBatchKey = (traceId: string): string => `trace:${traceId}`;

/**
 * The facts of a request to this endpoint that the writer needs, without its document. Also used for OpenTelemetry traces, which are mapped
 * to the form of this endpoint.
 * @throws ApiError if the sums of a span are too large.
 */
export function traceFacts(trace: Trace, principal: IngestRequest['principal']) {
  const spans = trace.spans ?? undefined;
  const supplied = suppliedUsage(trace);
  return {
    recordedBy: recordedByKey(principal),
    claim: agentClaim(trace),
    agentRank: AGENT_RANK.claimed as number,
    provisionalAgentName: null as string | null,
    isPartial: false,
    traceId: trace.trace_id,
    sessionId: trace.session_id ?? null,
    externalUserId: trace.external_user_id ?? null,
    latencyMs: trace.latency_ms ?? null,
    hasError: trace.error != null && trace.error !== '',
    startedAt: instantOf(trace.started_at),
    endedAt: instantOf(trace.ended_at),
    supplied,
    totals: totalsOf(trace),
    spanCount: spans?.length ?? 0,
    spans: spansText(withSums(spans ?? [], factsOfSpan, (index) => ['spans', index])),
  };
}

/** The totals of the request alone, or their error. They are used only if this is the first request of its trace. */
function totalsOf(trace: Trace): PreparedBody['totals'] {
  try {
    return traceTotals(suppliedUsage(trace), usageOfSpans(trace.spans ?? []));
  } catch (error) {
    if (error instanceof SumTooLargeError) return { tooLarge: sumTooLarge(error, []) };
    throw error;
  }
}

const instantOf = (text: string | null | undefined): bigint | null => (text == null ? null : (parseDateTime(text) ?? null));
