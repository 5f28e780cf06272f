import type { TraceColumns } from '@countersign/core/domain/merged-trace';
import type { Usage } from '@countersign/core/domain/usage';
import {
  boolArray,
  documentArray,
  int2Array,
  int4Array,
  int8Array,
  textArray,
  timestampArray,
  uuidArray,
} from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { type DocumentPlace, PLACE_COLUMNS, placeArrays } from './document-segments.ts';

/** A stored trace, with the columns that are needed to merge a submission into it. */
export interface KnownTrace {
  id: string;
  traceId: string;
  agentId: string | null;
  /** How reliably the agent is known (AGENT_RANK). */
  agentRank: number;
  submissionCount: number;
  supplied: Usage;
}

const LOCK = sql<{
  id: string;
  trace_id: string;
  agent_id: string | null;
  agent_rank: number;
  submission_count: number;
  supplied_prompt_tokens: number | null;
  supplied_completion_tokens: number | null;
  supplied_total_tokens: number | null;
  supplied_cost_usd: string | null;
}>(
  'lock_traces',
  // One index lookup for each trace_id. FOR UPDATE has the effect of a FENCE.
  `SELECT known.* FROM unnest($2::text[]) AS input (trace_id) CROSS JOIN LATERAL (
     SELECT id, trace_id, agent_id, agent_rank, submission_count, supplied_prompt_tokens, supplied_completion_tokens, supplied_total_tokens,
            trim_scale(supplied_cost_usd)::text AS supplied_cost_usd
       FROM countersign.traces AS kept WHERE kept.tenant_id = $1 AND kept.trace_id = input.trace_id FOR UPDATE) AS known`,
);

/** Locks the stored traces with these trace_ids in the order of the trace_ids, and returns them. Call it before writing to the traces. */
export async function lockTraces(tx: Transaction, traceIds: readonly string[]): Promise<KnownTrace[]> {
  const rows = await tx.run(LOCK, [tx.tenantId, textArray([...traceIds].sort())]);
  return rows.map((row) => ({
    id: row.id,
    traceId: row.trace_id,
    agentId: row.agent_id,
    agentRank: row.agent_rank,
    submissionCount: row.submission_count,
    supplied: {
      promptTokens: row.supplied_prompt_tokens,
      completionTokens: row.supplied_completion_tokens,
      totalTokens: row.supplied_total_tokens,
      costUsd: row.supplied_cost_usd,
    },
  }));
}

/** The columns of a trace from a submission; null if not sent. For a stored trace, `supplied`, `totals` and `spanCount` are merged. */
export interface TraceFacts extends Omit<TraceColumns, 'submissionCount' | 'receivedAt' | 'lastSpanAt'> {
  id: string;
  traceId: string;
  agentId: string | null;
  /** How reliably the agent is known (AGENT_RANK). */
  agentRank: number;
  /** The agent name that applies until the root span or an agent span arrives; null if there is none. */
  provisionalAgentName: string | null;
  /** Whether its spans were sent by OpenTelemetry. More spans of the trace may follow. */
  isPartial: boolean;
}

/** The rows that INSERT and UPDATE read: the parameters from $2 to $24 as columns. */
const FACTS = `unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::boolean[], $10::timestamptz[],
  $11::timestamptz[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[],
  $20::bigint[], $21::smallint[], $22::smallint[], $23::text[], $24::boolean[]) AS sent (id, trace_id, agent_id, outcome, session_id, external_user_id, latency_ms, has_error, started_at, ended_at,
  supplied_prompt_tokens, supplied_completion_tokens, supplied_total_tokens, supplied_cost_usd, prompt_tokens, completion_tokens,
  total_tokens, cost_usd, span_count, outcome_rank, agent_rank, provisional_agent_name, is_partial)`;

/** The values of the parameters $1 to $24. */
const factValues = (tenantId: string, traces: readonly TraceFacts[]): unknown[] => [
  tenantId,
  uuidArray(traces.map(({ id }) => id)),
  textArray(traces.map(({ traceId }) => traceId)),
  uuidArray(traces.map(({ agentId }) => agentId)),
  textArray(traces.map(({ outcome }) => outcome)),
  textArray(traces.map(({ sessionId }) => sessionId)),
  textArray(traces.map(({ externalUserId }) => externalUserId)),
  int8Array(traces.map(({ latencyMs }) => latencyMs)),
  boolArray(traces.map(({ hasError }) => hasError)),
  timestampArray(traces.map(({ startedAt }) => startedAt)),
  timestampArray(traces.map(({ endedAt }) => endedAt)),
  ...[traces.map(({ supplied }) => supplied), traces.map(({ totals }) => totals)].flatMap((usages) => [
    int8Array(usages.map(({ promptTokens }) => promptTokens)),
    int8Array(usages.map(({ completionTokens }) => completionTokens)),
    int8Array(usages.map(({ totalTokens }) => totalTokens)),
    textArray(usages.map(({ costUsd }) => costUsd)),
  ]),
  int8Array(traces.map(({ spanCount }) => spanCount)),
  int2Array(traces.map(({ outcomeRank }) => outcomeRank)),
  int2Array(traces.map(({ agentRank }) => agentRank)),
  textArray(traces.map(({ provisionalAgentName }) => provisionalAgentName)),
  boolArray(traces.map(({ isPartial }) => isPartial)),
];

const INSERT = sql(
  'insert_traces',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.traces (tenant_id, id, trace_id, agent_id, outcome, session_id, external_user_id, latency_ms, has_error, started_at,
     ended_at, supplied_prompt_tokens, supplied_completion_tokens, supplied_total_tokens, supplied_cost_usd, prompt_tokens,
     completion_tokens, total_tokens, cost_usd, span_count, outcome_rank, agent_rank, provisional_agent_name, last_span_at,
     submission_count, received_at)
   SELECT $1, id, trace_id, agent_id, outcome, session_id, external_user_id, latency_ms, has_error, started_at, ended_at,
     supplied_prompt_tokens, supplied_completion_tokens, supplied_total_tokens, supplied_cost_usd::numeric, prompt_tokens,
     completion_tokens, total_tokens, cost_usd::numeric, span_count, outcome_rank, agent_rank, provisional_agent_name,
     CASE WHEN is_partial THEN $25::timestamptz END, 1, $25::timestamptz
     FROM ${FACTS} ORDER BY trace_id`,
    '$2::uuid[]',
  ),
);

/** Inserts new traces. It fails with a unique violation if another batch stored one of them first; the retry merges into that trace. */
export function insertTraces(tx: Transaction, receivedAt: string, traces: readonly TraceFacts[]): void {
  if (traces.length > 0) tx.send(INSERT, [...factValues(tx.tenantId, traces), receivedAt]);
}

const UPDATE = sql(
  'update_traces',
  // One index lookup for each ID. The rows are locked, so their ctid does not change.
  `UPDATE countersign.traces AS kept SET
     agent_id = coalesce(sent.agent_id, kept.agent_id),
     agent_rank = CASE WHEN sent.agent_id IS NULL THEN kept.agent_rank ELSE sent.agent_rank END,
     provisional_agent_name = coalesce(sent.provisional_agent_name, kept.provisional_agent_name),
     outcome = CASE WHEN sent.outcome_rank >= kept.outcome_rank THEN sent.outcome ELSE kept.outcome END,
     outcome_rank = greatest(sent.outcome_rank, kept.outcome_rank),
     last_span_at = CASE WHEN sent.is_partial THEN $25::timestamptz ELSE kept.last_span_at END,
     session_id = coalesce(sent.session_id, kept.session_id), external_user_id = coalesce(sent.external_user_id, kept.external_user_id),
     latency_ms = coalesce(sent.latency_ms, kept.latency_ms), has_error = kept.has_error OR sent.has_error,
     started_at = coalesce(sent.started_at, kept.started_at), ended_at = coalesce(sent.ended_at, kept.ended_at),
     supplied_prompt_tokens = sent.supplied_prompt_tokens, supplied_completion_tokens = sent.supplied_completion_tokens,
     supplied_total_tokens = sent.supplied_total_tokens, supplied_cost_usd = sent.supplied_cost_usd::numeric,
     prompt_tokens = sent.prompt_tokens, completion_tokens = sent.completion_tokens, total_tokens = sent.total_tokens,
     cost_usd = sent.cost_usd::numeric, span_count = sent.span_count, submission_count = kept.submission_count + 1
     FROM ${FACTS} CROSS JOIN LATERAL (
       SELECT found.ctid AS place FROM countersign.traces AS found WHERE found.tenant_id = $1 AND found.id = sent.id ${FENCE}) AS locked
    WHERE kept.tenant_id = $1 AND kept.ctid = locked.place`,
);

/**
 * Merges submissions into traces that lockTraces has locked. Columns of members that were not sent do not change. The caller has merged
 * `supplied`, `totals` and `spanCount`.
 */
export function updateTraces(tx: Transaction, receivedAt: string, traces: readonly TraceFacts[]): void {
  if (traces.length > 0) tx.send(UPDATE, [...factValues(tx.tenantId, traces), receivedAt]);
}

/** A submission of a trace, ready to be stored. */
export interface TraceSubmission {
  /** `traces.id`. */
  trace: string;
  /** The number of the submission in its trace, from 1. */
  number: number;
  recordedBy: string;
  document: Buffer;
  /** The place of the document in a segment; null if the document is stored in the row. */
  place: DocumentPlace | null;
  /** The result of `spansText` for its spans. */
  spans: string;
  /** `otlp_exports.id` of the export from which the document was mapped; null if a sender sent the document itself. */
  export: string | null;
}

const INSERT_SUBMISSIONS = sql(
  'insert_trace_submissions',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document, spans, export, ${PLACE_COLUMNS})
   SELECT $1, trace, number, $11::timestamptz, recorded_by, document, spans, export, ${PLACE_COLUMNS}
     FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::integer[], $10::integer[])
       AS sent (trace, number, recorded_by, document, spans, export, ${PLACE_COLUMNS})`,
    '$2::uuid[]',
  ),
);

/** Stores submissions with their documents, byte for byte. Documents in segments are stored by `insertSegments`. */
export function insertTraceSubmissions(tx: Transaction, receivedAt: string, submissions: readonly TraceSubmission[]): void {
  tx.send(INSERT_SUBMISSIONS, [
    tx.tenantId,
    uuidArray(submissions.map(({ trace }) => trace)),
    int4Array(submissions.map(({ number }) => number)),
    textArray(submissions.map(({ recordedBy }) => recordedBy)),
    documentArray(submissions.map(({ document, place }) => (place === null ? document : null))),
    textArray(submissions.map(({ spans }) => spans)),
    uuidArray(submissions.map((each) => each.export)),
    ...placeArrays(submissions.map(({ place }) => place)),
    receivedAt,
  ]);
}
