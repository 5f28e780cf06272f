import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

const ALLOW = sql('allow_dropping', `SET LOCAL countersign.dropping = 'on'`);

/**
 * Allows this transaction to change the append-only tables with received runs. The role also needs the privileges of the tables' owner.
 */
export const allowDropping = (tx: Transaction): void => tx.send(ALLOW, []);

const MAY = sql<{ may: boolean }>('may_drop', `SELECT has_table_privilege('countersign.trace_submissions', 'DELETE') AS may`);

/** Whether the role of this connection has the privilege to delete runs. */
export const mayDrop = async (tx: Transaction): Promise<boolean> => (await tx.run(MAY, []))[0]!.may;

/** The number of the advisory lock that retention takes: the bytes of 'CSRETN'. */
const RETENTION_LOCK = 0x43_53_52_45_54_4e;

const LOCK = sql<{ locked: boolean }>('lock_retention', 'SELECT pg_try_advisory_xact_lock($1) AS locked');

/** Locks retention until the transaction ends. Returns false without waiting if another transaction has the lock. */
export const lockRetention = async (tx: Transaction): Promise<boolean> => (await tx.run(LOCK, [RETENTION_LOCK]))[0]!.locked;

const INSERT = sql(
  'insert_dropped_traces',
  `INSERT INTO countersign.dropped_traces (tenant_id, trace, seq) SELECT $1, trace, $3 FROM unnest($2::uuid[]) AS sent (trace)`,
);

/** Stores that these traces were dropped. @param seq the number of the event in the trace log that records this. */
export const insertDroppedTraces = (tx: Transaction, traces: readonly string[], seq: number): void =>
  tx.send(INSERT, [tx.tenantId, uuidArray(traces), seq]);

const FIND = sql<{ trace: string; seq: number }>(
  'find_dropped_traces',
  `SELECT d.trace, d.seq FROM unnest($2::uuid[]) AS input (trace)
     JOIN countersign.dropped_traces AS d ON d.tenant_id = $1 AND d.trace = input.trace`,
);

/** Those of the given traces that are in `dropped_traces`, each with the number of its event. The caller checks the event in the log. */
export const findDroppedTraces = (tx: Transaction, traces: readonly string[]): Promise<{ trace: string; seq: number }[]> =>
  tx.run(FIND, [tx.tenantId, uuidArray(traces)]);

const STORED = sql<{ trace: string; is_submitted: boolean }>(
  'find_stored_traces',
  `SELECT trace, is_submitted
     FROM (SELECT input.trace,
                  EXISTS (SELECT FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.id = input.trace) AS is_listed,
                  EXISTS (SELECT FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.trace = input.trace)
                    AS is_submitted
             FROM unnest($2::uuid[]) AS input (trace)) AS found
    WHERE is_listed OR is_submitted`,
);

/** Those of the given traces that have a row in `trace_submissions` or `traces`, each with the first of these tables that has one. */
export async function findStoredTraces(
  tx: Transaction,
  traces: readonly string[],
): Promise<{ trace: string; table: 'trace_submissions' | 'traces' }[]> {
  const rows = await tx.run(STORED, [tx.tenantId, uuidArray(traces)]);
  return rows.map(({ trace, is_submitted }) => ({ trace, table: is_submitted ? 'trace_submissions' : 'traces' }));
}
