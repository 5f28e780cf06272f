import type { Usage } from '@countersign/core/domain/usage';
import { int4Array, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** What is searched and summed of a span; the rest stands in the submission's document. */
export interface SpanRow {
  /** `traces.id`. */
  trace: string;
  spanId: string;
  submission: number;
  /** Its place in the submission's `spans`, from 0. */
  ordinal: number;
  kind: string;
  name: string;
  status: string;
  model: string | null;
  provider: string | null;
  usage: Usage;
  latencyMs: number | null;
  startedAt: bigint | null;
  endedAt: bigint | null;
}

const INSERT_TEXT = `INSERT INTO countersign.spans (tenant_id, trace, span_id, submission, ordinal, kind, name, status, model, provider,
     prompt_tokens, completion_tokens, total_tokens, cost_usd, latency_ms, started_at, ended_at)
   SELECT $1, trace, span_id, submission, ordinal, kind, name, status, model, provider, prompt_tokens, completion_tokens,
     total_tokens, cost_usd::numeric, latency_ms, started_at, ended_at
     FROM unnest($2::uuid[], $3::text[], $4::integer[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
       $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::bigint[], $16::timestamptz[], $17::timestamptz[])
       AS sent (trace, span_id, submission, ordinal, kind, name, status, model, provider, prompt_tokens, completion_tokens,
         total_tokens, cost_usd, latency_ms, started_at, ended_at)`;

const INSERT = sql('insert_spans', INSERT_TEXT);

const REPLACE = sql(
  'replace_spans',
  `${INSERT_TEXT}
   ON CONFLICT (tenant_id, trace, span_id) DO UPDATE SET submission = excluded.submission, ordinal = excluded.ordinal, kind = excluded.kind,
     name = excluded.name, status = excluded.status, model = excluded.model, provider = excluded.provider,
     prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, total_tokens = excluded.total_tokens,
     cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms, started_at = excluded.started_at, ended_at = excluded.ended_at`,
);

const columns = (tenantId: string, spans: readonly SpanRow[]): unknown[] => [
  tenantId,
  uuidArray(spans.map(({ trace }) => trace)),
  textArray(spans.map(({ spanId }) => spanId)),
  int4Array(spans.map(({ submission }) => submission)),
  int4Array(spans.map(({ ordinal }) => ordinal)),
  textArray(spans.map(({ kind }) => kind)),
  textArray(spans.map(({ name }) => name)),
  textArray(spans.map(({ status }) => status)),
  textArray(spans.map(({ model }) => model)),
  textArray(spans.map(({ provider }) => provider)),
  int8Array(spans.map(({ usage }) => usage.promptTokens)),
  int8Array(spans.map(({ usage }) => usage.completionTokens)),
  int8Array(spans.map(({ usage }) => usage.totalTokens)),
  textArray(spans.map(({ usage }) => usage.costUsd)),
  int8Array(spans.map(({ latencyMs }) => latencyMs)),
  timestampArray(spans.map(({ startedAt }) => startedAt)),
  timestampArray(spans.map(({ endedAt }) => endedAt)),
];

/** Stores the spans of traces that are new in this transaction: nothing can be there yet. */
export async function insertSpans(tx: Transaction, spans: readonly SpanRow[]): Promise<void> {
  if (spans.length > 0) await tx.run(INSERT, columns(tx.tenantId, spans));
}

/** Merges spans into traces that are locked: one of the same span_id is replaced whole. */
export async function replaceSpans(tx: Transaction, spans: readonly SpanRow[]): Promise<void> {
  if (spans.length > 0) await tx.run(REPLACE, columns(tx.tenantId, spans));
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
