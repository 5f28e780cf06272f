import type { NodePosition } from '@countersign/core/domain/merkle-proof';
import type { TreeNode } from '@countersign/core/domain/merkle-tree';
import { digestArray, int4Array, int8Array } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import type { LogName } from './log-heads.ts';

/** Of the nodes above the leaves, only every eighth level is stored. A proof computes the levels in between. */
export const STORED_LEVEL_STEP = 8;

const INSERT_NODES = sql(
  'insert_tree_nodes',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.tree_nodes (tenant_id, log, level, index, hash)
   SELECT $1, $2, level, index, hash FROM unnest($3::integer[], $4::bigint[], $5::bytea[]) AS made (level, index, hash)`,
    '$3::integer[]',
  ),
);

/** Stores nodes of stored levels: the roots of complete subtrees. The caller has locked or moved the head of the log. */
export function insertTreeNodes(tx: Transaction, log: LogName, nodes: readonly TreeNode[]): void {
  if (nodes.length === 0) return;
  tx.send(INSERT_NODES, [
    tx.tenantId,
    log,
    int4Array(nodes.map(({ level }) => level)),
    int8Array(nodes.map(({ index }) => index)),
    digestArray(nodes.map(({ hash }) => Buffer.from(hash).toString('hex'))),
  ]);
}

// Returns all hashes in one value, because one row for each hash would cost the driver more time than all other steps of a proof.
const READ_NODES = sql<HashesRow>(
  'read_tree_nodes',
  `SELECT string_agg(hash, ''::bytea ORDER BY index) AS hashes FROM countersign.tree_nodes
    WHERE tenant_id = $1 AND log = $2 AND level = $3 AND index >= $4 AND index < $5`,
);

/** Concatenated hashes; null if there are none. */
interface HashesRow {
  hashes: Buffer | null;
}

const NO_BYTES = Buffer.alloc(0);

/** The concatenated hashes of the stored nodes of one level, from the index `first` (included) to `end` (excluded), in order. */
export async function readTreeNodes(tx: Transaction, log: LogName, level: number, first: number, end: number): Promise<Buffer> {
  return (await tx.run(READ_NODES, [tx.tenantId, log, level, first, end]))[0]?.hashes ?? NO_BYTES;
}

const readLeavesOf = (log: LogName, column: string, table: string) =>
  sql<HashesRow>(
    `read_leaves_of_${log}`,
    `SELECT string_agg(${column}, ''::bytea ORDER BY seq) AS hashes FROM countersign.${table} WHERE tenant_id = $1 AND seq > $2 AND seq <= $3`,
  );

/** The statement that reads the leaf data of each log (docs/formats.md, "Logs and their trees"). */
const READ_LEAVES = {
  audit: readLeavesOf('audit', 'row_hash', 'audit_entries'),
  decisions: readLeavesOf('decisions', 'response_sha256', 'decisions'),
  evidence: readLeavesOf('evidence', 'event_hash', 'evidence_events'),
  keys: readLeavesOf('keys', 'event_hash', 'key_events'),
  traces: readLeavesOf('traces', 'event_hash', 'trace_events'),
} as const;

/** The concatenated leaf data of a log from the leaf `first` (included, from 0) to `end` (excluded), in order: 32 bytes for each leaf. */
export async function readLeafData(tx: Transaction, log: LogName, first: number, end: number): Promise<Buffer> {
  return (await tx.run(READ_LEAVES[log], [tx.tenantId, first, end]))[0]?.hashes ?? NO_BYTES;
}

/** A stored checkpoint. */
export interface StoredCheckpoint {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
  /** UTC with milliseconds. The signatures do not cover it. */
  signedAt: string;
  /** The time since `signedAt`, by the database's clock. */
  ageSeconds: number;
  note: string;
}

const LATEST = sql<{ size: number; root: Buffer; signed_at: string; age_seconds: number; note: string }>(
  'find_latest_checkpoint',
  `SELECT size, root, to_char(signed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS signed_at,
          extract(epoch FROM clock_timestamp() - signed_at)::float8 AS age_seconds, note
     FROM countersign.checkpoints WHERE tenant_id = $1 AND log = $2 ORDER BY size DESC LIMIT 1`,
);

/** The largest checkpoint of a log; undefined if the log has no checkpoint. */
export async function findLatestCheckpoint(tx: Transaction, log: LogName): Promise<StoredCheckpoint | undefined> {
  const [row] = await tx.run(LATEST, [tx.tenantId, log]);
  return row === undefined
    ? undefined
    : { size: row.size, root: row.root, signedAt: row.signed_at, ageSeconds: row.age_seconds, note: row.note };
}

const FIND_CHECKPOINT = sql<{ size: number; root: Buffer; note: string }>(
  'find_checkpoint',
  `SELECT size, root, note FROM countersign.checkpoints WHERE tenant_id = $1 AND log = $2 AND size = $3`,
);

/** The checkpoint of exactly this size; undefined if none is stored. */
export const findCheckpoint = async (
  tx: Transaction,
  log: LogName,
  size: number,
): Promise<{ size: number; root: Buffer; note: string } | undefined> =>
  (await tx.run(FIND_CHECKPOINT, [tx.tenantId, log, size]))[0];

const READ_CHECKPOINTS = sql<{ size: number; root: Buffer; note: string }>(
  'read_checkpoints_page',
  `SELECT size, root, note FROM countersign.checkpoints WHERE tenant_id = $1 AND log = $2 AND size > $3 AND size <= $4 ORDER BY size LIMIT 1000`,
);

/** The next 1,000 checkpoints of a log above the size `after`, up to and including the size `last`, sorted by size. */
export const readCheckpointsPage = (
  tx: Transaction,
  log: LogName,
  after: number,
  last: number,
): Promise<{ size: number; root: Buffer; note: string }[]> => tx.run(READ_CHECKPOINTS, [tx.tenantId, log, after, last]);

const INSERT_CHECKPOINT = sql<{ note: string }>(
  'insert_checkpoint',
  `INSERT INTO countersign.checkpoints (tenant_id, log, size, root, note) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (tenant_id, log, size) DO NOTHING RETURNING note`,
);

/** Stores a checkpoint; false if a checkpoint of this size is stored already, for example by another server. */
export const insertCheckpoint = async (
  tx: Transaction,
  log: LogName,
  { size, root, note }: { size: number; root: Uint8Array; note: string },
): Promise<boolean> => (await tx.run(INSERT_CHECKPOINT, [tx.tenantId, log, size, Buffer.from(root), note])).length === 1;

/** The level and the range of the stored nodes, or leaves (level 0), from which the node at a position is computed. `end` is excluded. */
export function storedBelow({ level, index }: NodePosition): { level: number; first: number; end: number } {
  const base = level - (level % STORED_LEVEL_STEP);
  const width = 2 ** (level - base);
  return { level: base, first: index * width, end: (index + 1) * width };
}
