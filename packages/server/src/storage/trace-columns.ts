import type { TraceColumns } from '@countersign/core/domain/merged-trace';
import { sql, type Transaction } from '../database/transaction.ts';
import { documentBytes, documentColumns, readDocumentsOf, type StoredDocument } from './document-segments.ts';
import { exactInstantText } from './instant-text.ts';
import { digestOfStoredSpans, hasSumsOfSpans } from './merged-spans-check.ts';
import type { SubmissionPlace } from './trace-rows.ts';

/** The row of a trace, to be compared with its submissions. `receivedAt` and `lastSpanAt` are UTC with six fraction digits. */
export interface StoredTrace extends TraceColumns {
  id: string;
  agentId: string | null;
  agentRank: number;
  provisionalAgentName: string | null;
  /** Whether a stored log record reports an exception of one of its spans. */
  hasException: boolean;
  /** The result of `digestOfStoredSpans`: the digest of its rows in `merged_spans`. */
  stepsDigest: string | null;
  /** The result of `hasSumsOfSpans` for the trace. */
  hasSumsOfSteps: boolean;
}

type Row = Omit<StoredTrace, 'startedAt' | 'endedAt' | 'supplied' | 'totals'> & {
  startedAt: string | null;
  endedAt: string | null;
  supplied: UsageRow;
  totals: UsageRow;
};
/** Numbers are text, because JSON numbers would lose digits. */
type UsageRow = [prompt: string | null, completion: string | null, total: string | null, cost: string | null];

const micros = (column: string): string => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;
const usage = (prefix: string): string =>
  `json_build_array(${['prompt_tokens', 'completion_tokens', 'total_tokens'].map((member) => `${prefix}${member}::text`).join(', ')},
    trim_scale(${prefix}cost_usd)::text)`;

/** The maximum number of traces of a page. */
const PAGE_TRACES = 100;

const LIST = sql<Row>(
  'list_trace_columns',
  `SELECT id, agent_id AS "agentId", outcome, outcome_rank AS "outcomeRank", session_id AS "sessionId", external_user_id AS "externalUserId",
          latency_ms AS "latencyMs", has_error AS "hasError", ${micros('started_at')} AS "startedAt", ${micros('ended_at')} AS "endedAt",
          ${usage('supplied_')} AS supplied, ${usage('')} AS totals, span_count AS "spanCount", submission_count AS "submissionCount",
          ${exactInstantText('received_at')} AS "receivedAt", ${exactInstantText('last_span_at')} AS "lastSpanAt",
          agent_rank AS "agentRank", provisional_agent_name AS "provisionalAgentName",
          EXISTS (SELECT FROM countersign.log_records AS l
            WHERE l.tenant_id = $1 AND l.trace_id = t.trace_id AND l.kind = 'exception') AS "hasException",
          ${digestOfStoredSpans('t.id')} AS "stepsDigest", ${hasSumsOfSpans('t.id', 't.submission_count')} AS "hasSumsOfSteps"
     FROM countersign.traces AS t WHERE tenant_id = $1 AND id >= $2 AND id <= $3 ORDER BY id LIMIT ${PAGE_TRACES}`,
);

/** The rows of the first PAGE_TRACES traces whose IDs are from `from` to `last`, both included, sorted by ID. */
export const listTraceColumns = async (tx: Transaction, from: string, last: string): Promise<StoredTrace[]> =>
  (await tx.run(LIST, [tx.tenantId, from, last])).map((row) => ({
    ...row,
    startedAt: row.startedAt === null ? null : BigInt(row.startedAt),
    endedAt: row.endedAt === null ? null : BigInt(row.endedAt),
    supplied: usageOfRow(row.supplied),
    totals: usageOfRow(row.totals),
  }));

const numberOf = (text: string | null): number | null => (text === null ? null : Number(text));
const usageOfRow = ([prompt, completion, total, costUsd]: UsageRow): TraceColumns['totals'] => ({
  promptTokens: numberOf(prompt),
  completionTokens: numberOf(completion),
  totalTokens: numberOf(total),
  costUsd,
});

/** A submission with its document and the values that are stored with it. */
export interface StoredSubmission extends SubmissionPlace {
  isPartial: boolean;
  receivedAt: string;
  /** The JSON text; undefined if it cannot be read from its segment. */
  document: string | undefined;
  /** The stored result of `spansText` for its spans. */
  spans: string;
}

/**
 * The maximum number of submissions of a page, and the approximate maximum of their total bytes. Both are small, because a page is parsed
 * without a pause.
 */
const PAGE_SUBMISSIONS = 50;
const PAGE_BYTES = 1024 * 1024;

const READ = sql<Omit<StoredSubmission, 'document'> & StoredDocument>(
  'read_trace_submissions',
  `SELECT id, number, "isPartial", "receivedAt", spans, document, segment, "offset", length FROM (
     SELECT trace AS id, number, export IS NOT NULL AS "isPartial", ${exactInstantText('received_at')} AS "receivedAt", spans,
            ${documentColumns('page')},
            sum(${documentBytes('page')}) OVER (ORDER BY trace, number) - ${documentBytes('page')} AS bytes_before
       FROM (SELECT * FROM countersign.trace_submissions
              WHERE tenant_id = $1 AND (trace, number) > ($2::uuid, $3::integer) AND trace <= $4::uuid
              ORDER BY trace, number LIMIT ${PAGE_SUBMISSIONS}) AS page) AS sized
    WHERE bytes_before < ${PAGE_BYTES} ORDER BY id, number`,
);

/**
 * The next submissions after a place, up to and including the trace with the ID `last`, in order. The list is empty only after the last
 * submission.
 */
export async function readTraceSubmissions(tx: Transaction, after: SubmissionPlace, last: string): Promise<StoredSubmission[]> {
  const rows = await tx.run(READ, [tx.tenantId, after.id, after.number, last]);
  const documents = await readDocumentsOf(tx, rows);
  return rows.map(({ id, number, isPartial, receivedAt, spans }, index) => ({
    ...{ id, number, isPartial, receivedAt, spans },
    document: documents[index]?.toString(),
  }));
}
