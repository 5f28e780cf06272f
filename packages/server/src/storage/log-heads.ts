import type { ChainHead } from '@countersign/core/domain/audit-chain';
import { textArray } from '../database/binary-array.ts';
import { withRowCountCheck } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { exactInstantText, instantText } from './instant-text.ts';

/** The names of a tenant's logs, in the order in which their heads are locked. */
export const LOG_NAMES = ['audit', 'decisions', 'evidence', 'keys', 'traces'] as const;
export type LogName = (typeof LOG_NAMES)[number];

/** The Merkle tree over a log, as stored with the head: the number of rows, and the concatenated hashes of the frontier. */
export interface StoredTree {
  size: number;
  frontier: Uint8Array;
}

/** A stored head. Its seal must be checked before use (ledger/sealed-heads.ts). */
export interface StoredHead extends ChainHead {
  tree: StoredTree;
  /** The time of the last row, UTC with microseconds; null if there is none. */
  lastMoment: string | null;
  /** The key epoch and the message authentication code, 33 bytes; null if the seal was removed. */
  seal: Uint8Array | null;
}

/** The times that were read together with a head. */
interface ReadClock {
  /** The time for appended rows: the later of the database's time and the time of the last row. UTC with milliseconds. */
  now: string;
  /** The time of the database's clock, in the same format. */
  clock: string;
  /** When the process received this time, by `performance.now()`, in milliseconds. */
  receivedAtMs: number;
}

/** A head with a valid seal that an append moves, and the time for appended rows. It is locked unless `guessed` is set. */
export interface HeadToMove extends ChainHead, ReadClock {
  tree: StoredTree;
  /**
   * Set if the head is a guess and is not locked: the move fails unless the database still has this head
   * (ledger/remembered-heads.ts).
   */
  guessed?: ChainHead;
}

/** SQL for the columns of a HeadRow, from a row `head` of `log_heads`. */
export const HEAD_COLUMNS = `head.seq, encode(head.row_hash, 'hex') AS row_hash, head.tree_size, head.frontier, head.seal,
          CASE WHEN isfinite(head.last_recorded_at)
               THEN to_char(head.last_recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END AS last_moment`;

/** A head as a statement returns it. */
export interface HeadRow {
  seq: number;
  row_hash: string | null;
  tree_size: number;
  frontier: Buffer;
  seal: Buffer | null;
  last_moment: string | null;
}

/** Converts a row to a StoredHead. */
export const storedHead = (row: HeadRow): StoredHead => ({
  seq: row.seq,
  rowHash: row.row_hash,
  tree: { size: row.tree_size, frontier: row.frontier },
  lastMoment: row.last_moment,
  seal: row.seal,
});

const LOCK = sql<HeadRow & Pick<ReadClock, 'clock'> & { log: LogName }>(
  'lock_log_heads',
  // The outer query reads the clock after the inner one has got the lock. The inner query would read it before waiting for the lock.
  `SELECT head.log, ${HEAD_COLUMNS}, ${instantText('clock_timestamp()')} AS clock
     FROM (SELECT log, seq, row_hash, tree_size, frontier, last_recorded_at, seal
             FROM countersign.log_heads WHERE tenant_id = $1 AND log = ANY ($2::text[]) ORDER BY log FOR UPDATE) AS head`,
);

/**
 * Locks these heads of a tenant in the order of their names, and returns them. An append calls this function before it numbers rows, unless
 * it guesses the head. A lock on the last row (ORDER BY seq DESC ... FOR UPDATE) would not serialize appends: two of them could
 * link to the same row.
 */
export async function lockHeads(tx: Transaction, logs: readonly LogName[]): Promise<Map<LogName, StoredHead & ReadClock>> {
  const rows = await tx.run(LOCK, [tx.tenantId, textArray([...logs].sort())]);
  const receivedAtMs = performance.now();
  return new Map(
    rows.map((row) => {
      const head = storedHead(row);
      return [row.log, { ...head, now: laterOf(row.clock, head.lastMoment), clock: row.clock, receivedAtMs }];
    }),
  );
}

/** The later time, UTC with milliseconds. The time of the last row has microseconds, of which the last three digits are zeros. */
function laterOf(clock: string, lastMoment: string | null): string {
  const last = lastMoment?.replace(/\d{3}Z$/, 'Z') ?? '';
  return last > clock ? last : clock;
}

const READ = sql<HeadRow & { read_at: string }>(
  'read_log_head',
  `SELECT ${HEAD_COLUMNS}, ${exactInstantText('clock_timestamp()')} AS read_at
     FROM countersign.log_heads AS head WHERE head.tenant_id = $1 AND head.log = $2`,
);

/**
 * A head, and the database's time when it was read, UTC with microseconds. No row of the log has a time after `readAt`, unless a clock was
 * wrong.
 */
export type ReadHead = StoredHead & { readAt: string };

/** Reads a log's head without a lock; undefined if its row is missing. */
export async function readHead(tx: Transaction, log: LogName): Promise<ReadHead | undefined> {
  const [row] = await tx.run(READ, [tx.tenantId, log]);
  return row === undefined ? undefined : { ...storedHead(row), readAt: row.read_at };
}

const INSERT = sql('insert_log_head', `INSERT INTO countersign.log_heads (tenant_id, log, seal) VALUES ($1, $2, $3)`);

/** Inserts the head of an empty log. Called when the tenant is created, because FOR UPDATE cannot lock a missing row. */
export const insertHead = (tx: Transaction, log: LogName, seal: Uint8Array): Promise<unknown> =>
  tx.run(INSERT, [tx.tenantId, log, seal]);

const SET = `SET seq = $3, row_hash = decode($4, 'hex'), last_recorded_at = $5::timestamptz, tree_size = $6, frontier = $7, seal = $8`;

const MOVE = sql(
  'move_log_head',
  withRowCountCheck(`UPDATE countersign.log_heads ${SET} WHERE tenant_id = $1 AND log = $2`, '1'),
);

/** The new state of a head. `now` is the time of the last row. */
export type MovedHead = ChainHead & { tree: StoredTree; now: string };

/** Moves a locked head to its state after an append. `rowHash` is null for logs whose head does not contain the hash of the last row. */
export function moveHead(tx: Transaction, log: LogName, head: MovedHead, seal: Uint8Array): void {
  tx.send(MOVE, [tx.tenantId, log, head.seq, head.rowHash, head.now, head.tree.size, head.tree.frontier, seal]);
}

// Fails with a division by zero if the head is not the guessed one. The failure makes the statements that were sent after this one fail
// too. An UPDATE that changes no row would not fail.
const MOVE_GUESSED = sql(
  'move_guessed_log_head',
  `WITH moved AS (
     UPDATE countersign.log_heads ${SET}
      WHERE tenant_id = $1 AND log = $2 AND seq = $9 AND row_hash IS NOT DISTINCT FROM decode($10, 'hex') RETURNING 1)
   SELECT 1 / count(*) AS moved FROM moved`,
);

/** Like `moveHead`, for a guessed head. If another head is stored, this fails with SQLSTATE 22012, and the batch is retried. */
export function moveGuessedHead(tx: Transaction, log: LogName, guessed: ChainHead, head: MovedHead, seal: Uint8Array): void {
  const { seq, rowHash, now, tree } = head;
  tx.send(MOVE_GUESSED, [tx.tenantId, log, seq, rowHash, now, tree.size, tree.frontier, seal, guessed.seq, guessed.rowHash]);
}
