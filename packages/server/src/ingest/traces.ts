import type { Issue } from '@countersign/core/contract/issue';
import type { Span, Trace } from '@countersign/core/contract/trace';
import { parseDateTime } from '@countersign/core/domain/instant';
import { SumTooLargeError, suppliedUsage, traceTotals, type Usage, usageOf, usageOfSpans } from '@countersign/core/domain/usage';
import { validationFailed } from '../api-error.ts';
import { type SpanFacts, spansText } from '../storage/spans.ts';
import { agentClaim } from './agent-book.ts';
import { type Asked, type Endpoint, recordedByKey } from './endpoint.ts';
import { replayability } from './replays.ts';
import { sumTooLarge, withSums } from './sum-too-large.ts';
import type { PreparedTrace } from './write-traces.ts';

/** POST /api/public/traces: the summary of a run and its ordered spans, merged into what is known of the trace_id. */
export const ingestTrace: Endpoint<Trace, PreparedBody> = {
  prepare: prepareTrace,
  submit: ({ traces }, { principal, document }, prepared) => {
    const totals = 'tooLarge' in prepared.totals ? validationFailed(prepared.totals.tooLarge) : prepared.totals;
    return traces.submit(principal.tenantId, { ...prepared, totals, document });
  },
};

/** A prepared trace without its bytes; the issue stands for the error where its own totals are too large. */
type PreparedBody = Omit<PreparedTrace, 'document' | 'totals'> & { totals: Usage | { tooLarge: Issue } };

/** About what a span's facts take in memory beside the document. */
const SPAN_BYTES = 300;

function prepareTrace(asked: Asked, trace: Trace): PreparedBody {
  const spans = trace.spans ?? undefined;
  const { idempotency, foldKeys } = replayability(asked);
  const supplied = suppliedUsage(trace);
  return {
    bytes: asked.document.length + (spans?.length ?? 0) * SPAN_BYTES,
    idempotency,
    foldKeys: [...foldKeys, `trace:${trace.trace_id}`],
    recordedBy: recordedByKey(asked.principal),
    claim: agentClaim(trace),
    traceId: trace.trace_id,
    outcome: trace.outcome ?? null,
    sessionId: trace.session_id ?? null,
    externalUserId: trace.external_user_id ?? null,
    latencyMs: trace.latency_ms ?? null,
    hasError: trace.error != null && trace.error !== '',
    startedAt: instant(trace.started_at),
    endedAt: instant(trace.ended_at),
    supplied,
    totals: totalsOf(trace),
    spanCount: spans?.length ?? 0,
    spans: spansText(withSums(spans ?? [], spanFacts, (index) => ['spans', index])),
  };
}

/** The totals of the request by itself, or why there are none: whether they are needed depends on what was supplied for its trace before. */
function totalsOf(trace: Trace): PreparedBody['totals'] {
  try {
    return traceTotals(suppliedUsage(trace), usageOfSpans(trace.spans ?? []));
  } catch (error) {
    if (error instanceof SumTooLargeError) return { tooLarge: sumTooLarge(error, []) };
    throw error;
  }
}

function spanFacts(span: Span): SpanFacts {
  return {
    spanId: span.span_id,
    kind: span.kind,
    name: span.name,
    status: span.status ?? 'success',
    model: span.model ?? null,
    provider: span.provider ?? null,
    usage: usageOf(span),
    latencyMs: span.latency_ms ?? null,
    startedAt: instant(span.started_at),
    endedAt: instant(span.ended_at),
  };
}

const instant = (text: string | null | undefined): bigint | null => (text == null ? null : (parseDateTime(text) ?? null));
