import type { Span } from '@countersign/core/contract/trace';
import { parseDateTime } from '@countersign/core/domain/instant';
import { parentOfCall } from '@countersign/core/domain/merged-trace';
import { type Usage, usageOf } from '@countersign/core/domain/usage';

/** The values of a span that the server searches and sums. The document of the submission has all values. */
export interface SpanFacts {
  spanId: string;
  kind: string;
  name: string;
  status: string;
  model: string | null;
  provider: string | null;
  usage: Usage;
  latencyMs: number | null;
  /** Microseconds since 1970. */
  startedAt: bigint | null;
  /** Microseconds since 1970. */
  endedAt: bigint | null;
  /** The result of `parentOfCall`. */
  parentOfCall: string | null;
}

/**
 * The SpanFacts of a span.
 * @throws SumTooLargeError if it has no total_tokens, and the sum of its prompt and completion tokens exceeds 2^53-1.
 */
export const factsOfSpan = (span: Span): SpanFacts => ({
  spanId: span.span_id,
  kind: span.kind,
  name: span.name,
  status: span.status ?? 'success',
  model: span.model ?? null,
  provider: span.provider ?? null,
  usage: usageOf(span),
  latencyMs: span.latency_ms ?? null,
  startedAt: instantOf(span.started_at),
  endedAt: instantOf(span.ended_at),
  parentOfCall: parentOfCall(span),
});

const instantOf = (text: string | null | undefined): bigint | null => (text == null ? null : (parseDateTime(text) ?? null));

/**
 * The facts of a submission's spans as text, which is stored with the submission. Storing one row for each span would cost more than
 * storing the rest of the trace. The text is a JSON array with an inner array for each span. An inner array contains the columns of the
 * view `countersign.spans` from `span_id` to `ended_at`, without `submission` and `ordinal`. If the span has a `parentOfCall`, the inner
 * array ends with null and this parent. The null stands for `ordinal`: the view then uses the position of the span in the outer array.
 */
export const spansText = (spans: readonly SpanFacts[]): string => `[${spans.map(spanText).join(',')}]`;

function spanText({ spanId, kind, name, status, model, provider, usage, latencyMs, ...others }: SpanFacts): string {
  const { promptTokens, completionTokens, totalTokens, costUsd } = usage;
  const fields = [spanId, kind, name, status, model, provider, promptTokens, completionTokens, totalTokens, costUsd, latencyMs];
  const { startedAt, endedAt, parentOfCall } = others;
  const parent = parentOfCall === null ? '' : `,null,${JSON.stringify(parentOfCall)}`;
  // Written manually: JSON.stringify rejects a bigint, and a double cannot represent all microseconds.
  return `${JSON.stringify(fields).slice(0, -1)},${startedAt},${endedAt}${parent}]`;
}
