import type { ChainedRow, ChainHead } from '@countersign/core/domain/audit-chain';
import { digestArray, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A tenant's logs, in the order in which their heads are locked everywhere. */
export type LogName = 'audit' | 'decisions' | 'keys';

/** A locked head, and the moment that the rows appended behind it bear: by the database's clock, never before the last row's. */
export interface LockedHead extends ChainHead {
  /** UTC with milliseconds, `2026-11-20T09:30:00.123Z`. */
  now: string;
}

const LOCK = sql<{ log: LogName; seq: number; row_hash: string | null; now: string }>(
  'lock_log_heads',
  `SELECT log, seq, encode(row_hash, 'hex') AS row_hash,
          to_char(greatest(clock_timestamp(), last_recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now
     FROM countersign.log_heads WHERE tenant_id = $1 AND log = ANY ($2::text[]) ORDER BY log FOR UPDATE`,
);

/**
 * Locks the heads of a tenant's logs and returns them. Must be the first statement of an appending transaction.
 * Reading the last entry instead (ORDER BY seq DESC ... FOR UPDATE) serialises nothing: two appends chain to one row.
 */
export async function lockHeads(tx: Transaction, logs: readonly LogName[]): Promise<Map<LogName, LockedHead>> {
  const rows = await tx.run(LOCK, [tx.tenantId, textArray([...logs].sort())]);
  return new Map(rows.map(({ log, seq, row_hash, now }) => [log, { seq, rowHash: row_hash, now }]));
}

const MOVE = sql(
  'move_log_head',
  `UPDATE countersign.log_heads SET seq = $3, row_hash = decode($4, 'hex'), last_recorded_at = $5::timestamptz WHERE tenant_id = $1 AND log = $2`,
);

/** Moves a head behind the rows just appended. `rowHash` is null for the logs whose rows are not chained to each other. */
export async function moveHead(tx: Transaction, log: LogName, head: LockedHead): Promise<void> {
  await tx.run(MOVE, [tx.tenantId, log, head.seq, head.rowHash, head.now]);
}

const INSERT = sql(
  'insert_audit_entries',
  `INSERT INTO countersign.audit_entries (tenant_id, seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document)
   SELECT $1, seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document
     FROM unnest($2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[], $10::bytea[], $11::bytea[], $12::text[])
       AS linked (seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document)`,
);

/** Stores linked rows. The constraints refuse a fork whatever the code does. */
export async function insertAuditEntries(tx: Transaction, rows: readonly ChainedRow[]): Promise<void> {
  const entries = rows.map(({ entry }) => entry);
  await tx.run(INSERT, [
    tx.tenantId,
    int8Array(entries.map(({ seq }) => seq)),
    uuidArray(entries.map(({ id }) => id)),
    timestampArray(entries.map(({ recorded_at }) => BigInt(Date.parse(recorded_at)) * 1000n)),
    textArray(entries.map(({ recorded_by }) => recorded_by)),
    textArray(entries.map(({ actor }) => actor)),
    textArray(entries.map(({ action }) => action)),
    textArray(entries.map(({ trace_id }) => trace_id)),
    uuidArray(entries.map(({ agent_id }) => agent_id)),
    digestArray(entries.map(({ prev_hash }) => prev_hash)),
    digestArray(rows.map(({ rowHash }) => rowHash)),
    textArray(rows.map(({ canonical }) => canonical)),
  ]);
}

/** A stored row with the columns that repeat what its document says. */
export interface StoredEntry {
  seq: number;
  id: string;
  recorded_at: string;
  recorded_by: string;
  actor: string;
  action: string;
  trace_id: string | null;
  agent_id: string | null;
  prev_hash: string | null;
  row_hash: string;
  document: string;
}

const READ = sql<StoredEntry>(
  'read_audit_entries',
  `SELECT seq, id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS recorded_at, recorded_by, actor, action, trace_id,
          agent_id, encode(prev_hash, 'hex') AS prev_hash, encode(row_hash, 'hex') AS row_hash, document
     FROM countersign.audit_entries WHERE tenant_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
);

/** Rows behind `afterSeq`, in order. */
export const readAuditEntries = (tx: Transaction, afterSeq: number, limit: number): Promise<StoredEntry[]> =>
  tx.run(READ, [tx.tenantId, afterSeq, limit]);

const READ_HEAD = sql<{ seq: number; row_hash: string | null }>(
  'read_audit_head',
  `SELECT seq, encode(row_hash, 'hex') AS row_hash FROM countersign.log_heads WHERE tenant_id = $1 AND log = 'audit'`,
);

/** The head of the audit ledger, not locked. */
export async function readAuditHead(tx: Transaction): Promise<ChainHead> {
  const [head] = await tx.run(READ_HEAD, [tx.tenantId]);
  return { seq: head?.seq ?? 0, rowHash: head?.row_hash ?? null };
}
