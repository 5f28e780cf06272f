import type { Usage } from '@countersign/core/domain/usage';
import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** What is searched and summed of a span; the rest stands in the submission's document. */
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
  endedAt: bigint | null;
}

/**
 * The facts of a submission's spans as the text that is kept beside its document: a JSON array of arrays, in the order of the columns of
 * the view `countersign.spans` from span_id on (migration 000008). A row of its own for each span would cost more than all the rest.
 */
export const spansText = (spans: readonly SpanFacts[]): string => `[${spans.map(spanText).join(',')}]`;

function spanText({ spanId, kind, name, status, model, provider, usage, latencyMs, startedAt, endedAt }: SpanFacts): string {
  const { promptTokens, completionTokens, totalTokens, costUsd } = usage;
  const said = [spanId, kind, name, status, model, provider, promptTokens, completionTokens, totalTokens, costUsd, latencyMs];
  // By hand: JSON.stringify takes no bigint, and a double would not hold the microseconds of every year.
  return `${JSON.stringify(said).slice(0, -1)},${startedAt},${endedAt}]`;
}

/** Sums over all spans of a trace. Token sums stay text: they may be beyond 2^53-1. */
export interface SpanSums {
  trace: string;
  spanCount: number;
  promptTokens: string | null;
  completionTokens: string | null;
  totalTokens: string | null;
  costUsd: string | null;
}

const SUM = sql<SpanSums>(
  'sum_spans',
  `SELECT trace, count(*) AS "spanCount", sum(prompt_tokens)::text AS "promptTokens", sum(completion_tokens)::text AS "completionTokens",
          sum(total_tokens)::text AS "totalTokens", trim_scale(sum(cost_usd))::text AS "costUsd"
     FROM countersign.spans WHERE tenant_id = $1 AND trace = ANY ($2::uuid[]) GROUP BY trace`,
);

/** The sums over the spans of these traces, those written in this transaction included. */
export const sumSpans = (tx: Transaction, traces: readonly string[]): Promise<SpanSums[]> =>
  tx.run(SUM, [tx.tenantId, uuidArray(traces)]);
