import { int4Array, uuidArray } from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** Sums over the merged spans of a trace. A sum is null if no span reports its value. Token sums are text, as they may exceed 2^53-1. */
export interface SpanSums {
  trace: string;
  spanCount: number;
  promptTokens: string | null;
  completionTokens: string | null;
  totalTokens: string | null;
  costUsd: string | null;
}

/** A submission to merge into a trace that lockTraces has locked. */
export interface SubmissionToMerge {
  /** `traces.id`. */
  trace: string;
  /** The number of the submission in its trace. */
  number: number;
}

/** The columns of a span's usage. */
export const USAGE = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd'] as const;
const USAGE_COLUMNS = USAGE.join(', ');
const SUM_COLUMNS = USAGE.flatMap((member) => [member, `${member}_reported`]).join(', ');

/** SQL for those traces in $2 that have no sums yet. The fence makes PostgreSQL find these traces before it reads their spans. */
const UNMERGED = `(SELECT input.trace FROM unnest($2::uuid[]) AS input (trace)
  WHERE NOT EXISTS (SELECT FROM countersign.merged_traces AS m WHERE m.tenant_id = $1 AND m.trace = input.trace) ${FENCE}) AS input`;

// Each INSERT reads its tenant from a row, and not from a parameter, so that Citus runs it on the node that has the rows
// (database/citus-statements.ts).
const INITIALIZE_SPANS = sql(
  'initialize_merged_spans',
  `INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission, parent_of_call, ${USAGE_COLUMNS})
   SELECT span.tenant_id, span.trace, span.span_id, span.submission, span.parent_of_call, ${USAGE.map((member) => `span.${member}`).join(', ')}
     FROM ${UNMERGED}
    CROSS JOIN LATERAL (SELECT * FROM countersign.spans AS s WHERE s.tenant_id = $1 AND s.trace = input.trace ${FENCE}) AS span`,
);

const INITIALIZE_SUMS = sql(
  'initialize_merged_sums',
  `INSERT INTO countersign.merged_traces (tenant_id, trace, span_count, ${SUM_COLUMNS})
   SELECT merged.tenant_id, merged.id, merged.span_count, ${USAGE.map((member) => `merged.${member}, merged.${member}_reported`).join(', ')}
     FROM ${UNMERGED}
    CROSS JOIN LATERAL (
      SELECT t.tenant_id, t.id, sums.* FROM countersign.traces AS t CROSS JOIN LATERAL (
        SELECT count(*) AS span_count,
               ${USAGE.map((member) => `coalesce(sum(s.${member}), 0) AS ${member}, count(s.${member}) AS ${member}_reported`).join(',\n               ')}
          FROM countersign.merged_spans AS s WHERE s.tenant_id = $1 AND s.trace = input.trace ${FENCE}) AS sums
       WHERE t.tenant_id = $1 AND t.id = input.trace ${FENCE}) AS merged`,
);

/**
 * Stores the spans of these traces as rows, and the sums over them, unless both are stored already. A trace needs both from its second
 * submission on. Call it before the next submission is inserted.
 */
export function initializeMergedSpans(tx: Transaction, traces: readonly string[]): void {
  if (traces.length === 0) return;
  for (const statement of [INITIALIZE_SPANS, INITIALIZE_SUMS]) tx.send(statement, [tx.tenantId, uuidArray(traces)]);
}

// The fences make PostgreSQL look up each submission, and each span_id, by its primary key.
const RECEIVED = `SELECT input.trace, input.number, submission.tenant_id, span.fields ->> 0 AS span_id,
            (span.fields ->> 6)::bigint AS prompt_tokens, (span.fields ->> 7)::bigint AS completion_tokens,
            (span.fields ->> 8)::bigint AS total_tokens, (span.fields ->> 9)::numeric AS cost_usd, span.fields ->> 14 AS parent_of_call
       FROM unnest($2::uuid[], $3::integer[]) AS input (trace, number)
      CROSS JOIN LATERAL (SELECT s.tenant_id, s.spans FROM countersign.trace_submissions AS s
        WHERE s.tenant_id = $1 AND s.trace = input.trace AND s.number = input.number ${FENCE}) AS submission
      CROSS JOIN LATERAL json_array_elements(submission.spans::json) AS span (fields) ${FENCE}`;

/** SQL that is true for a span that reports a call with tokens, even if its usage is not counted. */
const reportsCall = (span: string): string => `(${span}.total_tokens IS NOT NULL OR ${span}.parent_of_call IS NOT NULL)`;

/** SQL for the spans of the submissions, without the usage of model calls below a stored call. */
const SENT = `SELECT received.trace, received.number, received.tenant_id, received.span_id, received.parent_of_call,
            ${USAGE.map((member) => `CASE WHEN call.is_reported IS NULL THEN received.${member} END AS ${member}`).join(', ')}
       FROM (${RECEIVED}) AS received
       LEFT JOIN LATERAL (SELECT true AS is_reported FROM countersign.merged_spans AS m
        WHERE m.tenant_id = $1 AND m.trace = received.trace AND m.span_id = received.parent_of_call
          AND ${reportsCall('m')} ${FENCE}) AS call ON true`;

/** SQL for the stored model calls below a sent call: their usage is no longer counted. Calls that were sent again are omitted. */
const BELOW_SENT = `SELECT sent.trace, below.place, ${USAGE.map((member) => `below.${member}`).join(', ')} FROM sent
      CROSS JOIN LATERAL (SELECT m.ctid AS place, m.* FROM countersign.merged_spans AS m
        WHERE m.tenant_id = $1 AND m.trace = sent.trace AND m.parent_of_call = sent.span_id ${FENCE}) AS below
      WHERE ${reportsCall('sent')}
        AND NOT EXISTS (SELECT FROM sent AS again WHERE again.trace = sent.trace AND again.span_id = below.span_id)`;

const SUM = sql<SpanSums>(
  'sum_merged_spans',
  `WITH input AS (SELECT * FROM unnest($2::uuid[], $3::integer[]) AS input (trace, number)),
   sent AS (${SENT}),
   replaced AS (
     SELECT sent.trace, ${USAGE.map((member) => `kept.${member}`).join(', ')} FROM sent
      CROSS JOIN LATERAL (SELECT * FROM countersign.merged_spans AS m
        WHERE m.tenant_id = $1 AND m.trace = sent.trace AND m.span_id = sent.span_id ${FENCE}) AS kept),
   below AS (${BELOW_SENT}),
   change AS (
     SELECT input.trace, coalesce(sum(spans), 0) AS span_count,
            ${USAGE.map(
              (member) => `coalesce(sum(sign * ${member}), 0) AS ${member},
            coalesce(sum(sign) FILTER (WHERE ${member} IS NOT NULL), 0) AS ${member}_reported`,
            ).join(',\n            ')}
       FROM input LEFT JOIN (
         SELECT trace, 1 AS spans, 1 AS sign, ${USAGE_COLUMNS} FROM sent UNION ALL SELECT trace, -1, -1, ${USAGE_COLUMNS} FROM replaced
         UNION ALL SELECT trace, 0, -1, ${USAGE_COLUMNS} FROM below) AS moved USING (trace)
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

const STORE = sql(
  'merge_spans',
  `INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission, parent_of_call, ${USAGE_COLUMNS})
   SELECT sent.tenant_id, sent.trace, sent.span_id, sent.number, sent.parent_of_call, ${USAGE.map((member) => `sent.${member}`).join(', ')}
     FROM (${SENT}) AS sent
   ON CONFLICT (tenant_id, trace, span_id) DO UPDATE SET submission = excluded.submission, parent_of_call = excluded.parent_of_call,
     ${USAGE.map((member) => `${member} = excluded.${member}`).join(', ')}`,
);

const CLEAR_BELOW = sql(
  'clear_calls_below',
  `WITH sent AS (${SENT}), below AS (${BELOW_SENT})
   UPDATE countersign.merged_spans AS kept SET ${USAGE.map((member) => `${member} = NULL`).join(', ')}
     FROM below WHERE kept.tenant_id = $1 AND kept.ctid = below.place`,
);

/**
 * Merges the spans of stored submissions into their traces, and returns the new sums of each trace. First the sums are changed by the
 * difference between the new spans and the spans that they replace. The usage of a model call is not counted if its parent reports the
 * same call (docs/decisions/0061). The caller has locked the traces, and has called `initializeMergedSpans` for them.
 */
export function mergeSpans(tx: Transaction, submissions: readonly SubmissionToMerge[]): Promise<SpanSums[]> {
  const values = [
    tx.tenantId,
    uuidArray(submissions.map(({ trace }) => trace)),
    int4Array(submissions.map(({ number }) => number)),
  ];
  const sums = tx.run(SUM, values);
  tx.send(STORE, values);
  tx.send(CLEAR_BELOW, values);
  return sums;
}
