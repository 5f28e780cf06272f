import type { Span, Trace } from '../contract/trace.ts';
import { parseDateTime } from './instant.ts';
import { mergeUsage, type ReportedUsage, suppliedUsage, traceTotals, type Usage, usageOfSpans } from './usage.ts';

/** The source of a trace's outcome, the least reliable first: none, the default, the root span of an OpenTelemetry export, a sent trace. */
export const OUTCOME_RANK = { none: 0, default: 1, root: 2, sent: 3 } as const;

/** The columns of a trace that result from its submissions. null means not sent. */
export interface TraceColumns {
  outcome: string | null;
  /** A value of OUTCOME_RANK. */
  outcomeRank: number;
  sessionId: string | null;
  externalUserId: string | null;
  latencyMs: number | null;
  hasError: boolean;
  /** Microseconds since 1970. */
  startedAt: bigint | null;
  /** Microseconds since 1970. */
  endedAt: bigint | null;
  /** The usage that was sent at trace level. */
  supplied: Usage;
  /** The supplied usage, completed by sums over the spans. */
  totals: Usage;
  spanCount: number;
  submissionCount: number;
  /** When its first submission was received. */
  receivedAt: string;
  /** When OpenTelemetry spans last arrived; null without any. */
  lastSpanAt: string | null;
}

/** A stored submission of a trace. */
export interface StoredSubmission {
  document: Trace;
  /** Whether it was mapped from an OpenTelemetry export. If so, later exports may add spans and the outcome. */
  isPartial: boolean;
  receivedAt: string;
}

/** A span of a trace: the counted usage in the newest submission with this span, and the number of that submission. */
export interface MergedSpan extends ReportedUsage {
  submission: number;
  /** The result of `parentOfCall`. */
  parentOfCall: string | null;
}

/** The member of a span's `metadata` that marks a model call that may report the same tokens as its parent. */
export const MAY_REPEAT_PARENT = 'countersign.may_repeat_parent';

/**
 * Returns the span_id of the parent if a span is a model call that may report the same tokens as its parent; otherwise null. If the parent
 * also reports a call with tokens, both spans report the same call, and the usage of the child is not counted (docs/decisions/0061).
 */
export const parentOfCall = (span: Span): string | null =>
  span.kind === 'llm' && span.metadata?.[MAY_REPEAT_PARENT] === true ? (span.parent_span_id ?? null) : null;

/** Whether a span reports a call with tokens, even if its usage is not counted because its parent reports the same call. */
const reportsCall = ({ prompt_tokens, completion_tokens, total_tokens, parentOfCall }: Omit<MergedSpan, 'submission'>): boolean =>
  (prompt_tokens ?? completion_tokens ?? total_tokens ?? parentOfCall) !== null;

/** Computes the columns of one trace from its submissions, in order (docs/decisions/0054). */
export class MergedTrace {
  readonly #spans = new Map<string, MergedSpan>();
  /** For each span_id, the span_ids of the spans that have or had it as their `parentOfCall`. */
  readonly #callsBelow = new Map<string, Set<string>>();
  #columns: Omit<TraceColumns, 'totals' | 'spanCount'> | undefined;

  /** Merges the next submission. */
  add({ document, isPartial, receivedAt }: StoredSubmission): void {
    const earlier = this.#columns;
    const supplied = suppliedUsage(document);
    const { outcome, outcomeRank } = outcomeOf(document, isPartial);
    const replacesOutcome = earlier === undefined || outcomeRank >= earlier.outcomeRank;
    const submission = (earlier?.submissionCount ?? 0) + 1;
    this.#mergeSpans(document.spans ?? [], submission);
    this.#columns = {
      outcome: replacesOutcome ? outcome : earlier.outcome,
      outcomeRank: replacesOutcome ? outcomeRank : earlier.outcomeRank,
      sessionId: document.session_id ?? earlier?.sessionId ?? null,
      externalUserId: document.external_user_id ?? earlier?.externalUserId ?? null,
      latencyMs: document.latency_ms ?? earlier?.latencyMs ?? null,
      hasError: earlier?.hasError === true || hasError(document, isPartial),
      startedAt: instantOf(document.started_at) ?? earlier?.startedAt ?? null,
      endedAt: instantOf(document.ended_at) ?? earlier?.endedAt ?? null,
      supplied: earlier === undefined ? supplied : mergeUsage(supplied, earlier.supplied),
      submissionCount: submission,
      receivedAt: earlier?.receivedAt ?? receivedAt,
      lastSpanAt: isPartial ? receivedAt : (earlier?.lastSpanAt ?? null),
    };
  }

  /** Merges spans as `mergeSpans` in the server's storage does. */
  #mergeSpans(spans: readonly Span[], submission: number): void {
    const sentSpans = new Map<string, MergedSpan>();
    for (const span of spans) {
      const parent = parentOfCall(span);
      const repeatsParent = parent !== null && reportsCall(this.#spans.get(parent) ?? { parentOfCall: null });
      sentSpans.set(span.span_id, { ...(repeatsParent ? {} : usageMembers(span)), submission, parentOfCall: parent });
    }
    for (const [spanId, span] of sentSpans) {
      if (!reportsCall(span)) continue;
      for (const callId of this.#callsBelow.get(spanId) ?? []) {
        const storedSpan = this.#spans.get(callId)!;
        if (storedSpan.parentOfCall !== spanId || sentSpans.has(callId)) continue;
        this.#spans.set(callId, { submission: storedSpan.submission, parentOfCall: spanId });
      }
    }
    for (const [spanId, span] of sentSpans) {
      this.#spans.set(spanId, span);
      if (span.parentOfCall === null) continue;
      const calls = this.#callsBelow.get(span.parentOfCall) ?? new Set();
      this.#callsBelow.set(span.parentOfCall, calls.add(spanId));
    }
  }

  /** The merged spans by span_id. */
  get spans(): ReadonlyMap<string, MergedSpan> {
    return this.#spans;
  }

  /**
   * Returns the columns that result from the submissions so far; undefined before the first one.
   * @throws SumTooLargeError if a sum over the spans is too large
   */
  columns(): TraceColumns | undefined {
    if (this.#columns === undefined) return undefined;
    const totals = traceTotals(this.#columns.supplied, usageOfSpans([...this.#spans.values()]));
    return { ...this.#columns, totals, spanCount: this.#spans.size };
  }
}

function outcomeOf({ outcome }: Trace, isPartial: boolean): Pick<TraceColumns, 'outcome' | 'outcomeRank'> {
  if (outcome == null)
    return isPartial
      ? { outcome: null, outcomeRank: OUTCOME_RANK.none }
      : { outcome: 'success', outcomeRank: OUTCOME_RANK.default };
  return { outcome, outcomeRank: isPartial ? OUTCOME_RANK.root : OUTCOME_RANK.sent };
}

/** Whether a submission reports an error. A sent trace reports it in `error`, an OpenTelemetry export in the status of a span. */
const hasError = ({ error, spans }: Trace, isPartial: boolean): boolean =>
  isPartial ? (spans ?? []).some(({ status }) => status === 'error') : error != null && error !== '';

const instantOf = (text: string | null | undefined): bigint | null => (text == null ? null : (parseDateTime(text) ?? null));

/** Only these members of a span are kept in memory, because a trace can have very many spans. */
const usageMembers = ({ prompt_tokens, completion_tokens, total_tokens, cost_usd }: Span): ReportedUsage => ({
  ...(prompt_tokens == null ? {} : { prompt_tokens }),
  ...(completion_tokens == null ? {} : { completion_tokens }),
  ...(total_tokens == null ? {} : { total_tokens }),
  ...(cost_usd == null ? {} : { cost_usd }),
});
