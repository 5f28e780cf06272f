import { hash } from 'node:crypto';
import type { MergedSpan } from '@countersign/core/domain/merged-trace';
import { usageOf } from '@countersign/core/domain/usage';
import { int4Array, uuidArray } from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** Sums over the merged spans of a trace. Token sums stay text: they may be beyond 2^53-1. null if no span reports any. */
export interface SpanSums {
  trace: string;
  spanCount: number;
  promptTokens: string | null;
  completionTokens: string | null;
  totalTokens: string | null;
  costUsd: string | null;
}

/** A submission to merge into a trace that lockTraces has locked. */
export interface MergedSubmission {
  /** `traces.id`. */
  trace: string;
  /** Its number. */
  number: number;
}

const USAGE = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd'] as const;
const USAGE_COLUMNS = USAGE.join(', ');
const SUM_COLUMNS = USAGE.flatMap((member) => [member, `${member}_reported`]).join(', ');

/** Traces that have no sums yet. */
const UNMERGED = `(SELECT trace FROM unnest($2::uuid[]) AS input (trace)
  WHERE NOT EXISTS (SELECT FROM countersign.merged_traces AS m WHERE m.tenant_id = $1 AND m.trace = input.trace) ${FENCE}) AS unmerged`;

const INITIALIZE = sql(
  'carry_merged_spans',
  `WITH inserted AS (
     INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission, ${USAGE_COLUMNS})
     SELECT $1, unmerged.trace, span.span_id, span.submission, ${USAGE.map((member) => `span.${member}`).join(', ')} FROM ${UNMERGED}
      CROSS JOIN LATERAL (SELECT * FROM countersign.spans AS s WHERE s.tenant_id = $1 AND s.trace = unmerged.trace ${FENCE}) AS span
     RETURNING trace, ${USAGE_COLUMNS})
   INSERT INTO countersign.merged_traces (tenant_id, trace, span_count, ${SUM_COLUMNS})
   SELECT $1, unmerged.trace, count(inserted.trace),
          ${USAGE.map((member) => `coalesce(sum(inserted.${member}), 0), count(inserted.${member})`).join(', ')}
     FROM ${UNMERGED} LEFT JOIN inserted ON inserted.trace = unmerged.trace GROUP BY unmerged.trace`,
);

/**
 * Stores the spans of these traces as rows with their sums, unless that was done before. A trace needs them from its second submission on.
 * Call it before the next submission is inserted.
 */
export function initializeMergedSpans(tx: Transaction, traces: readonly string[]): void {
  if (traces.length > 0) tx.send(INITIALIZE, [tx.tenantId, uuidArray(traces)]);
}

// The fences keep the look-up of each span_id by the primary key.
// The replaced row is read from the snapshot of the statement, so it is the row before `written` changes it.
const MERGE = sql<SpanSums>(
  'merge_spans',
  `WITH input AS (SELECT * FROM unnest($2::uuid[], $3::integer[]) AS input (trace, number)),
   sent AS (
     SELECT input.trace, input.number, span.fields ->> 0 AS span_id, (span.fields ->> 6)::bigint AS prompt_tokens,
            (span.fields ->> 7)::bigint AS completion_tokens, (span.fields ->> 8)::bigint AS total_tokens, (span.fields ->> 9)::numeric AS cost_usd
       FROM input
      CROSS JOIN LATERAL (SELECT s.spans FROM countersign.trace_submissions AS s
        WHERE s.tenant_id = $1 AND s.trace = input.trace AND s.number = input.number ${FENCE}) AS submission
      CROSS JOIN LATERAL json_array_elements(submission.spans::json) AS span (fields)),
   replaced AS (
     SELECT sent.trace, ${USAGE.map((member) => `kept.${member}`).join(', ')} FROM sent
      CROSS JOIN LATERAL (SELECT * FROM countersign.merged_spans AS m
        WHERE m.tenant_id = $1 AND m.trace = sent.trace AND m.span_id = sent.span_id ${FENCE}) AS kept),
   written AS (
     INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission, ${USAGE_COLUMNS})
     SELECT $1, trace, span_id, number, ${USAGE_COLUMNS} FROM sent
     ON CONFLICT (tenant_id, trace, span_id) DO UPDATE SET submission = excluded.submission,
       ${USAGE.map((member) => `${member} = excluded.${member}`).join(', ')}),
   change AS (
     SELECT input.trace, coalesce(sum(sign), 0) AS span_count,
            ${USAGE.map(
              (member) => `coalesce(sum(sign * ${member}), 0) AS ${member},
            coalesce(sum(sign) FILTER (WHERE ${member} IS NOT NULL), 0) AS ${member}_reported`,
            ).join(',\n            ')}
       FROM input LEFT JOIN (
         SELECT trace, 1 AS sign, ${USAGE_COLUMNS} FROM sent UNION ALL SELECT trace, -1, ${USAGE_COLUMNS} FROM replaced) AS moved USING (trace)
      GROUP BY input.trace)
   UPDATE countersign.merged_traces AS kept SET span_count = kept.span_count + change.span_count,
     ${USAGE.flatMap((member) => [member, `${member}_reported`])
       .map((column) => `${column} = kept.${column} + change.${column}`)
       .join(', ')}
     FROM change CROSS JOIN LATERAL (
       SELECT m.ctid AS place FROM countersign.merged_traces AS m WHERE m.tenant_id = $1 AND m.trace = change.trace ${FENCE}) AS found
    WHERE kept.tenant_id = $1 AND kept.ctid = found.place
   RETURNING kept.trace, kept.span_count AS "spanCount",
     CASE WHEN kept.prompt_tokens_reported > 0 THEN kept.prompt_tokens::text END AS "promptTokens",
     CASE WHEN kept.completion_tokens_reported > 0 THEN kept.completion_tokens::text END AS "completionTokens",
     CASE WHEN kept.total_tokens_reported > 0 THEN kept.total_tokens::text END AS "totalTokens",
     CASE WHEN kept.cost_usd_reported > 0 THEN trim_scale(kept.cost_usd)::text END AS "costUsd"`,
);

/** Merges the spans of stored submissions into their traces, and returns the sums of each merged trace. */
export const mergeSpans = (tx: Transaction, submissions: readonly MergedSubmission[]): Promise<SpanSums[]> =>
  tx.run(MERGE, [
    tx.tenantId,
    uuidArray(submissions.map(({ trace }) => trace)),
    int4Array(submissions.map(({ number }) => number)),
  ]);

/**
 * SQL of the SHA-256 over the stored steps of a trace in the order of their IDs; null without any. `digestOfSpans` computes the same, so
 * that a trace with very many steps is compared without reading them.
 */
export const digestOfStoredSpans = (trace: string): string =>
  `(SELECT encode(sha256(convert_to(string_agg(concat(octet_length(m.span_id), ' ', m.span_id, ' ', m.submission, ' ',
      ${USAGE_TEXTS.join(", ' ', ")}), E'\\n' ORDER BY m.span_id), 'UTF8')), 'hex')
      FROM countersign.merged_spans AS m WHERE m.tenant_id = $1 AND m.trace = ${trace})`;

const USAGE_TEXTS = USAGE.map(
  (member) => `coalesce(${member === 'cost_usd' ? `trim_scale(m.${member})` : `m.${member}`}::text, '-')`,
);

/** The same digest over steps in memory. */
export function digestOfSpans(spans: ReadonlyMap<string, MergedSpan>): string | null {
  if (spans.size === 0) return null;
  const lines = [...spans].map(([spanId, span]) => {
    const id = Buffer.from(spanId);
    const { promptTokens, completionTokens, totalTokens, costUsd } = usageOf(span);
    const usage = [promptTokens, completionTokens, totalTokens, costUsd].map((member) => member ?? '-');
    return { id, line: `${id.length} ${spanId} ${span.submission} ${usage.join(' ')}` };
  });
  const ordered = lines.sort((one, other) => one.id.compare(other.id)).map(({ line }) => line);
  return hash('sha256', ordered.join('\n'), 'hex');
}

/** SQL that is true if a trace has the sums over its stored steps, or has one submission and no sums. */
export const hasSumsOfSpans = (trace: string, submissionCount: string): string =>
  `coalesce((SELECT (s.span_count, ${USAGE.map((member) => `s.${member}, s.${member}_reported`).join(', ')}) = (
      SELECT count(*), ${USAGE.map((member) => `coalesce(sum(m.${member}), 0), count(m.${member})`).join(', ')}
        FROM countersign.merged_spans AS m WHERE m.tenant_id = $1 AND m.trace = ${trace})
      FROM countersign.merged_traces AS s WHERE s.tenant_id = $1 AND s.trace = ${trace}), ${submissionCount} = 1)`;
