import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { type Seals, sealsOf } from '../database/seals.ts';
import type { Transaction } from '../database/transaction.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { openFrontier, storedRoot } from './log-tree.ts';

/** The largest number of remembered heads. Above it, the least recently used one is dropped. */
const HEADS_MAX = 30_000;

/** The size of a log and its root at that size. */
export interface KeptHead {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** Memory of logs outside the database and this process. */
export interface HeadStore {
  /** The newest stored checkpoint of a log. */
  latest(tenantId: string, log: LogName): Promise<KeptHead | undefined>;
  /** Replaces the stored checkpoint. Resolves when the new one would survive a crash. */
  keep(tenantId: string, log: LogName, checkpoint: { size: number; note: string }): Promise<void>;
}

/** A head that this process has seen, or that was stored. Its root is computed on demand. */
export interface SeenHead {
  size: number;
  root: () => Uint8Array;
}

/** The known logs of one database. */
interface Memory {
  /** The last committed heads that this process has seen. */
  heads: Map<string, SeenHead>;
  /** Logs whose head was not valid when it was last read. */
  refused: Set<string>;
  /** The memory that outlives the process. */
  kept: HeadStore | undefined;
}

const memories = new WeakMap<Seals, Memory>();

function memoryOf(seals: Seals): Memory {
  let memory = memories.get(seals);
  if (memory === undefined) {
    memory = { heads: new Map(), refused: new Set(), kept: undefined };
    memories.set(seals, memory);
  }
  return memory;
}

/** Sets the memory for the logs of a pool's database that outlives this process. */
export function setHeadStore(pool: Pool, kept: HeadStore | undefined): void {
  const seals = sealsOf(pool);
  if (seals === undefined) throw new Error('a pool without seals remembers nothing');
  memoryOf(seals).kept = kept;
}

/** Whether the logs of a pool's database have a memory that outlives this process. */
export function hasHeadStore(pool: Pool): boolean {
  const seals = sealsOf(pool);
  return seals !== undefined && memoryOf(seals).kept !== undefined;
}

/** The memory that outlives this process, for the logs of a transaction's database. */
export const headStore = (tx: Transaction): HeadStore | undefined => memoryOf(tx.seals).kept;

/** Records whether a log's head was valid when it was read. */
export function noteHeadState(tx: Transaction, log: LogName, isValid: boolean): void {
  const { refused } = memoryOf(tx.seals);
  if (isValid) refused.delete(keyOf(tx, log));
  else if (refused.size < HEADS_MAX) refused.add(keyOf(tx, log));
}

/** The number of logs of a pool's database whose head was not valid when it was last read. */
export function countRefusedLogs(pool: Pool): number {
  const seals = sealsOf(pool);
  return seals === undefined ? 0 : memoryOf(seals).refused.size;
}

const keyOf = (tx: Transaction, log: LogName): string => `${tx.tenantId} ${log}`;

/**
 * The last committed head of a log that this process has seen, at first the stored one. Call it before a statement that reads the head.
 * Returns a promise only at the first use of a log, so that later statements of the same round trip are not delayed.
 */
export function lastSeen(tx: Transaction, log: LogName): SeenHead | undefined | Promise<SeenHead | undefined> {
  const { heads, kept } = memoryOf(tx.seals);
  const seen = heads.get(keyOf(tx, log));
  if (seen !== undefined || kept === undefined) return seen;
  return kept.latest(tx.tenantId, log).then((head) => head && { size: head.size, root: () => head.root });
}

/** Remembers a committed head, unless a later one is remembered. */
export function rememberSeen(tx: Transaction, log: LogName, tree: StoredTree): void {
  const known = memoryOf(tx.seals).heads.get(keyOf(tx, log));
  if ((known?.size ?? -1) <= tree.size) acceptHead(tx, log, tree);
}

/** Accepts a head regardless of earlier ones, after the operator has accepted a restore. */
export function acceptHead(tx: Transaction, log: LogName, { size, frontier }: StoredTree): void {
  const { heads } = memoryOf(tx.seals);
  const key = keyOf(tx, log);
  heads.delete(key);
  heads.set(key, { size, root: () => openFrontier({ size, frontier }).root() });
  if (heads.size > HEADS_MAX) heads.delete(heads.keys().next().value!);
}

/**
 * Why a head does not continue the log that this process has seen; undefined if it does. A seal shows that the server has written a head,
 * but not that it is the newest one. This comparison detects an older state of the database, restored with its seals.
 */
export async function continuityFault(
  tx: Transaction,
  log: LogName,
  seen: SeenHead | undefined,
  tree: StoredTree,
): Promise<string | undefined> {
  if (seen === undefined || seen.size === 0) return undefined;
  if (tree.size < seen.size) return `it has ${tree.size} rows, and had ${seen.size}: an older state was restored`;
  const root = tree.size === seen.size ? openFrontier(tree).root() : await storedRoot(tx, log, seen.size);
  if (sameBytes(root, seen.root())) return undefined;
  return `its first ${seen.size} rows differ from those known before: an older state was restored, and other rows were appended`;
}
