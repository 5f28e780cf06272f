import type { ChainedRow, ChainHead } from '@countersign/core/domain/audit-chain';
import { digestArray, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { instantText } from './instant-text.ts';

/** A tenant's logs, in the order in which their heads are locked everywhere. */
export type LogName = 'audit' | 'decisions' | 'keys';

/** The tree over a log as its head keeps it: how many rows it covers, and its frontier's hashes one after the other. */
export interface StoredTree {
  size: number;
  frontier: Uint8Array;
}

/** A locked head, and the moment that the rows appended behind it bear: by the database's clock, never before the last row's. */
export interface LockedHead extends ChainHead {
  /** UTC with milliseconds, `2026-11-20T09:30:00.123Z`. */
  now: string;
  /** The database's clock when the head was read, likewise. */
  clock: string;
  tree: StoredTree;
  /** Not locked but guessed: where the head must stand when it is moved (ledger/remembered-heads.ts). */
  guessed?: ChainHead;
}

interface HeadRow {
  seq: number;
  row_hash: string | null;
  tree_size: number;
  frontier: Buffer;
  now: string;
  clock: string;
}

const LOCK = sql<HeadRow & { log: LogName }>(
  'lock_log_heads',
  // The clock is read outside, which is after the lock was waited for; inside it would be the moment at which the waiting began.
  `SELECT log, seq, encode(row_hash, 'hex') AS row_hash, tree_size, frontier, ${instantText('greatest(clock_timestamp(), last_recorded_at)')} AS now,
          ${instantText('clock_timestamp()')} AS clock
     FROM (SELECT log, seq, row_hash, tree_size, frontier, last_recorded_at
             FROM countersign.log_heads WHERE tenant_id = $1 AND log = ANY ($2::text[]) ORDER BY log FOR UPDATE) AS locked`,
);

/**
 * Locks the heads of a tenant's logs and returns them. Must be the first statement of an appending transaction.
 * Reading the last entry instead (ORDER BY seq DESC ... FOR UPDATE) serialises nothing: two appends chain to one row.
 */
export async function lockHeads(tx: Transaction, logs: readonly LogName[]): Promise<Map<LogName, LockedHead>> {
  const rows = await tx.run(LOCK, [tx.tenantId, textArray([...logs].sort())]);
  return new Map(rows.map((row) => [row.log, headOf(row)]));
}

const headOf = (row: HeadRow): LockedHead => ({
  seq: row.seq,
  rowHash: row.row_hash,
  now: row.now,
  clock: row.clock,
  tree: { size: row.tree_size, frontier: row.frontier },
});

const READ_HEAD = sql<HeadRow>(
  'read_log_head',
  `SELECT seq, encode(row_hash, 'hex') AS row_hash, tree_size, frontier, '' AS now, '' AS clock FROM countersign.log_heads WHERE tenant_id = $1 AND log = $2`,
);

/** A log's head as it is, not locked: number, hash and tree of one moment. */
export async function readHead(tx: Transaction, log: LogName): Promise<LockedHead | undefined> {
  const [row] = await tx.run(READ_HEAD, [tx.tenantId, log]);
  return row === undefined ? undefined : headOf(row);
}

const MOVE = sql(
  'move_log_head',
  `UPDATE countersign.log_heads SET seq = $3, row_hash = decode($4, 'hex'), last_recorded_at = $5::timestamptz, tree_size = $6, frontier = $7
    WHERE tenant_id = $1 AND log = $2`,
);

/** Moves a head behind the rows just appended. `rowHash` is null for the logs whose rows are not chained to each other. */
export async function moveHead(tx: Transaction, log: LogName, head: LockedHead): Promise<void> {
  await tx.run(MOVE, [tx.tenantId, log, head.seq, head.rowHash, head.now, head.tree.size, head.tree.frontier]);
}

// Division by zero is how a plain statement can fail, and a pipeline with it, where no row is what was expected.
const MOVE_GUESSED = sql(
  'move_guessed_log_head',
  `WITH moved AS (
     UPDATE countersign.log_heads SET seq = $3, row_hash = decode($4, 'hex'), last_recorded_at = $5::timestamptz, tree_size = $6, frontier = $7
      WHERE tenant_id = $1 AND log = $2 AND seq = $8 AND row_hash IS NOT DISTINCT FROM decode($9, 'hex') RETURNING 1)
   SELECT 1 / count(*) AS moved FROM moved`,
);

/** The same, if the head stands where it was guessed to; else it fails with the SQLSTATE 22012, which is worth another try. */
export async function moveGuessedHead(tx: Transaction, log: LogName, guessed: ChainHead, head: LockedHead): Promise<void> {
  const { seq, rowHash, now, tree } = head;
  await tx.run(MOVE_GUESSED, [tx.tenantId, log, seq, rowHash, now, tree.size, tree.frontier, guessed.seq, guessed.rowHash]);
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

/** Most rows of a page. */
export const PAGE_ROWS = 1000;

const nextSeqOf = (log: LogName, table: string) =>
  sql<{ seq: number | null }>(
    `find_next_seq_of_${log}`,
    `SELECT min(seq) AS seq FROM countersign.${table} WHERE tenant_id = $1 AND seq > $2`,
  );

const NEXT_SEQ = {
  audit: nextSeqOf('audit', 'audit_entries'),
  decisions: nextSeqOf('decisions', 'decisions'),
  keys: nextSeqOf('keys', 'key_events'),
} as const;

/** The number of a log's first row behind `after`; 0 when there is none. */
export const findNextSeq = async (tx: Transaction, log: LogName, after: number): Promise<number> =>
  (await tx.run(NEXT_SEQ[log], [tx.tenantId, after]))[0]?.seq ?? 0;

/** How far a log goes: what its head says, and what its rows say. */
export interface LogExtent {
  /** Undefined when the head's row is gone. */
  head: (ChainHead & { tree: StoredTree }) | undefined;
  /** The lowest and the highest seq stored; 1 and 0 without rows. */
  firstSeq: number;
  lastSeq: number;
}

interface ExtentRow {
  seq: number | null;
  row_hash: string | null;
  tree_size: number | null;
  frontier: Buffer | null;
  first_seq: number | null;
  last_seq: number | null;
}

const readExtentOf = (log: LogName, table: string) =>
  sql<ExtentRow>(
    `read_extent_of_${log}`,
    `SELECT head.seq, encode(head.row_hash, 'hex') AS row_hash, head.tree_size, head.frontier, rows.first_seq, rows.last_seq
       FROM (SELECT min(seq) AS first_seq, max(seq) AS last_seq FROM countersign.${table} WHERE tenant_id = $1) AS rows
       LEFT JOIN countersign.log_heads AS head ON head.tenant_id = $1 AND head.log = '${log}'`,
  );

const READ_EXTENT = {
  audit: readExtentOf('audit', 'audit_entries'),
  decisions: readExtentOf('decisions', 'decisions'),
  keys: readExtentOf('keys', 'key_events'),
} as const;

const sumDocumentBytesOf = (log: LogName, table: string) =>
  sql<{ bytes: number }>(
    `sum_document_bytes_${log}`,
    `SELECT coalesce(sum(octet_length(document)), 0) AS bytes FROM countersign.${table}
      WHERE tenant_id = $1 AND seq >= $2::bigint AND seq <= $3::bigint`,
  );

const SUM_DOCUMENT_BYTES = {
  audit: sumDocumentBytesOf('audit', 'audit_entries'),
  decisions: sumDocumentBytesOf('decisions', 'decisions'),
  keys: sumDocumentBytesOf('keys', 'key_events'),
} as const;

/** Bytes of the documents of a log's rows from one number to another, both included. Does not read the documents. */
export const sumDocumentBytes = async (tx: Transaction, log: LogName, first: number, last: number): Promise<number> =>
  (await tx.run(SUM_DOCUMENT_BYTES[log], [tx.tenantId, first, last]))[0]!.bytes;

/** Both read in one statement, so of one moment: an append between the two would look like tampering. */
export async function readLogExtent(tx: Transaction, log: LogName): Promise<LogExtent> {
  const [row] = await tx.run(READ_EXTENT[log], [tx.tenantId]);
  const { first_seq: firstSeq, last_seq: lastSeq } = row!;
  const head =
    row!.seq === null
      ? undefined
      : { seq: row!.seq, rowHash: row!.row_hash, tree: { size: row!.tree_size!, frontier: row!.frontier! } };
  return { head, firstSeq: firstSeq ?? 1, lastSeq: lastSeq ?? 0 };
}
