import type { DueRange } from '@countersign/core/domain/retention';
import { textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { documentColumns, type StoredDocument } from './document-segments.ts';
import { exactInstantText } from './instant-text.ts';
import { isHeld } from './run-holds.ts';

/** The largest number of traces that one transaction drops. */
export const DROPPED_TRACES_MAX = 500;

const LOCK = sql<{ id: string }>(
  'lock_due_traces',
  // A trace that is locked, because a submission is being added to it, is skipped until retention runs again.
  `SELECT id FROM countersign.traces
    WHERE tenant_id = $1 AND id > $2 AND id <= $3 AND received_at >= $4 AND received_at < $5
    ORDER BY id LIMIT ${DROPPED_TRACES_MAX} FOR UPDATE SKIP LOCKED`,
);

/**
 * Locks the next traces that were received in a range of time, in the order of their IDs, at most DROPPED_TRACES_MAX: those after the ID
 * `after`, up to and including `last`. Skips traces that another transaction has locked.
 */
export const lockDueTraces = async (
  tx: Transaction,
  [after, last]: readonly [string, string],
  { from, before }: DueRange,
): Promise<string[]> => (await tx.run(LOCK, [tx.tenantId, after, last, from, before])).map(({ id }) => id);

/** A locked trace with its stored submissions. */
export interface LockedTrace {
  id: string;
  traceId: string;
  /** The times are UTC with microseconds. */
  submissions: { number: number; receivedAt: string }[];
}

/** A locked trace with due submissions, and what can prevent that it is dropped. */
export interface DueTrace extends LockedTrace {
  /** Whether one of its submissions is not due. */
  isPartlyDue: boolean;
  /** Whether the run of the trace must be kept (`isHeld` in run-holds.ts). */
  isHeld: boolean;
}

const SUBMISSIONS = `coalesce(json_agg(json_build_object('number', s.number, 'receivedAt', ${exactInstantText('s.received_at')})), '[]')`;

const READ = sql<DueTrace>(
  'read_due_traces',
  `SELECT t.id, t.trace_id AS "traceId", sent.submissions, sent.is_partly_due AS "isPartlyDue",
          ${isHeld('t.trace_id', '$5')} AS "isHeld"
     FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.traces AS t ON t.tenant_id = $1 AND t.id = input.id
    CROSS JOIN LATERAL (
      SELECT ${SUBMISSIONS} AS submissions,
             count(*) FILTER (WHERE NOT EXISTS (SELECT FROM unnest($3::timestamptz[], $4::timestamptz[]) AS range (since, before)
                                                 WHERE s.received_at >= range.since AND s.received_at < range.before)) > 0 AS is_partly_due
        FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.trace = t.id ${FENCE}) AS sent
    ORDER BY t.id`,
);

/** Reads the facts that decide whether locked traces are dropped. @param ranges all due ranges of traces. @param today `YYYY-MM-DD`. */
export function readDueTraces(
  tx: Transaction,
  ids: readonly string[],
  ranges: readonly DueRange[],
  today: string,
): Promise<DueTrace[]> {
  const [since, before] = [ranges.map(({ from }) => from), ranges.map((range) => range.before)].map(instants);
  return tx.run(READ, [tx.tenantId, uuidArray(ids), since, before, today]);
}

const instants = (times: readonly string[]): Buffer => timestampArray(times.map((time) => BigInt(Date.parse(time)) * 1000n));

/** A deleted submission: the IDs of its trace and its export, and its document or the place of the document in a segment. */
export type DeletedSubmission = StoredDocument & { trace: string; number: number; export: string | null };

const DELETE_SUBMISSIONS = sql<DeletedSubmission>(
  'delete_trace_submissions',
  `DELETE FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.trace = ANY ($2::uuid[])
   RETURNING s.trace, s.number, s.export, ${documentColumns('s')}`,
);
const DELETE_MERGED_SPANS = sql(
  'delete_merged_spans',
  'DELETE FROM countersign.merged_spans WHERE tenant_id = $1 AND trace = ANY ($2::uuid[])',
);
const DELETE_MERGED_TRACES = sql(
  'delete_merged_traces',
  'DELETE FROM countersign.merged_traces WHERE tenant_id = $1 AND trace = ANY ($2::uuid[])',
);
const DELETE_LOG_RECORDS = sql<{ export: string | null }>(
  'delete_log_records_of_traces',
  'DELETE FROM countersign.log_records WHERE tenant_id = $1 AND trace_id = ANY ($2::text[]) RETURNING export',
);
const DELETE_TRACES = sql('delete_traces', 'DELETE FROM countersign.traces WHERE tenant_id = $1 AND id = ANY ($2::uuid[])');

/**
 * Deletes traces with their submissions, merged spans and log records. Returns the submissions, and the IDs of the exports of the log
 * records.
 */
export async function deleteTraces(
  tx: Transaction,
  traces: { ids: readonly string[]; traceIds: readonly string[] },
): Promise<{ submissions: DeletedSubmission[]; logExports: string[] }> {
  const ids = uuidArray(traces.ids);
  const submissions = tx.run(DELETE_SUBMISSIONS, [tx.tenantId, ids]);
  const logRecords = tx.run(DELETE_LOG_RECORDS, [tx.tenantId, textArray(traces.traceIds)]);
  for (const statement of [DELETE_MERGED_SPANS, DELETE_MERGED_TRACES, DELETE_TRACES]) tx.send(statement, [tx.tenantId, ids]);
  const exports = new Set((await logRecords).flatMap((record) => record.export ?? []));
  return { submissions: await submissions, logExports: [...exports] };
}

const FIND = sql<{ id: string }>(
  'find_trace_to_erase',
  'SELECT id FROM countersign.traces WHERE tenant_id = $1 AND trace_id = $2 FOR UPDATE',
);
const READ_SUBMISSIONS = sql<Pick<LockedTrace, 'submissions'>>(
  'read_submissions_to_erase',
  `SELECT ${SUBMISSIONS} AS submissions FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.trace = $2`,
);

/** Locks the trace with a trace_id, and returns it; undefined if there is none. */
export async function lockTraceToErase(tx: Transaction, traceId: string): Promise<LockedTrace | undefined> {
  const [trace] = await tx.run(FIND, [tx.tenantId, traceId]);
  if (trace === undefined) return undefined;
  // A submission may have been added while this transaction waited for the lock, so the submissions are read by a later statement.
  const [{ submissions } = { submissions: [] }] = await tx.run(READ_SUBMISSIONS, [tx.tenantId, trace.id]);
  return { id: trace.id, traceId, submissions };
}
