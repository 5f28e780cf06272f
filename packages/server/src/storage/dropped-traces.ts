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

/** The seed of the advisory lock of retention and erasure: the bytes of 'CSRETN'. */
const RETENTION_LOCK = 0x43_53_52_45_54_4e;

const LOCK = sql('lock_retention', `SELECT pg_advisory_xact_lock(hashtextextended($1::text, ${RETENTION_LOCK}))`);

/**
 * Locks retention and erasure in the tenant until the transaction ends, and waits for other transactions that have this lock. Without the
 * lock, two transactions could drop the same record. They could also deadlock, because they lock the segments of documents and of the index
 * in different orders.
 */
export const lockRetention = (tx: Transaction): void => tx.send(LOCK, [tx.tenantId]);

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

/** Those of the given traces that have a row in `trace_submissions` or `traces`, each with the first of these tables that has a row. */
export async function findStoredTraces(
  tx: Transaction,
  traces: readonly string[],
): Promise<{ trace: string; table: 'trace_submissions' | 'traces' }[]> {
  const rows = await tx.run(STORED, [tx.tenantId, uuidArray(traces)]);
  return rows.map(({ trace, is_submitted }) => ({ trace, table: is_submitted ? 'trace_submissions' : 'traces' }));
}
