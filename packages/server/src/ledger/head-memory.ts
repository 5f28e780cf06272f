import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { type Seals, sealsOf } from '../database/seals.ts';
import type { Transaction } from '../database/transaction.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { openFrontier, storedRoot } from './log-tree.ts';

/** Heads remembered at once; beyond, the one that was touched longest ago is forgotten. */
const HEADS_MAX = 30_000;

/** The size of a log, and its root there. */
export interface KeptHead {
  size: number;
  /** 32 bytes. */
  root: Uint8Array;
}

/** What is remembered of logs outside the database and this process. */
export interface KeptHeads {
  /** The newest checkpoint that was kept of a log. */
  latest(tenantId: string, log: LogName): Promise<KeptHead | undefined>;
  /** Keeps a checkpoint in place of the one before; resolves when it would survive a crash. */
  keep(tenantId: string, log: LogName, checkpoint: { size: number; note: string }): Promise<void>;
}

/** A head that this process has seen, or that was kept. Its root is made when it is asked for. */
export interface Seen {
  size: number;
  root: () => Uint8Array;
}

/** What this process knows of the logs of one database. */
interface Memory {
  /** The last committed heads that it has seen. */
  heads: Map<string, Seen>;
  /** Logs whose head was not valid when it was last read. */
  refused: Set<string>;
  /** What outlives the process. */
  kept: KeptHeads | undefined;
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

/** Has what is known of the logs of a pool's database outlive this process. */
export function rememberBeyond(pool: Pool, kept: KeptHeads | undefined): void {
  const seals = sealsOf(pool);
  if (seals === undefined) throw new Error('a pool without seals remembers nothing');
  memoryOf(seals).kept = kept;
}

/** Whether what is known of the logs of a pool's database outlives this process. */
export function remembersBeyond(pool: Pool): boolean {
  const seals = sealsOf(pool);
  return seals !== undefined && memoryOf(seals).kept !== undefined;
}

/** What outlives this process of the logs of a transaction's database. */
export const keptHeads = (tx: Transaction): KeptHeads | undefined => memoryOf(tx.seals).kept;

/** Records whether a log's head was valid when it was read. */
export function noteBelief(tx: Transaction, log: LogName, isBelieved: boolean): void {
  const { refused } = memoryOf(tx.seals);
  if (isBelieved) refused.delete(keyOf(tx, log));
  else if (refused.size < HEADS_MAX) refused.add(keyOf(tx, log));
}

/** The number of logs of a pool's database whose head was not valid when it was last read. */
export function countRefusedLogs(pool: Pool): number {
  const seals = sealsOf(pool);
  return seals === undefined ? 0 : memoryOf(seals).refused.size;
}

const keyOf = (tx: Transaction, log: LogName): string => `${tx.tenantId} ${log}`;

/**
 * The last committed head that this process has seen of a log, or at first what was kept of it. To be taken before a statement that reads
 * the head is sent. A promise only at the first touch of a log: later on, what is sent in the same round trip as the statement must not be
 * delayed.
 */
export function lastSeen(tx: Transaction, log: LogName): Seen | undefined | Promise<Seen | undefined> {
  const { heads, kept } = memoryOf(tx.seals);
  const seen = heads.get(keyOf(tx, log));
  if (seen !== undefined || kept === undefined) return seen;
  return kept.latest(tx.tenantId, log).then((head) => head && { size: head.size, root: () => head.root });
}

/** Remembers a committed head, unless a later one is known. */
export function rememberSeen(tx: Transaction, log: LogName, tree: StoredTree): void {
  const known = memoryOf(tx.seals).heads.get(keyOf(tx, log));
  if ((known?.size ?? -1) <= tree.size) adopt(tx, log, tree);
}

/** Accepts a head, whatever was seen before: after a restore that the operator has accepted. */
export function adopt(tx: Transaction, log: LogName, { size, frontier }: StoredTree): void {
  const { heads } = memoryOf(tx.seals);
  const key = keyOf(tx, log);
  heads.delete(key);
  heads.set(key, { size, root: () => openFrontier({ size, frontier }).root() });
  if (heads.size > HEADS_MAX) heads.delete(heads.keys().next().value!);
}

/**
 * Why a head does not continue the log that this process has seen; undefined when it does. A seal says that the server has written a head,
 * not that it is the newest one: an older state of the database, restored with its seals, shows here.
 */
export async function continuityFault(
  tx: Transaction,
  log: LogName,
  seen: Seen | undefined,
  tree: StoredTree,
): Promise<string | undefined> {
  if (seen === undefined || seen.size === 0) return undefined;
  if (tree.size < seen.size) return `it has ${tree.size} rows, and had ${seen.size}: an older state was restored`;
  const root = tree.size === seen.size ? openFrontier(tree).root() : await storedRoot(tx, log, seen.size);
  if (sameBytes(root, seen.root())) return undefined;
  return `its first ${seen.size} rows are not those that were there: an older state was restored, and went on otherwise`;
}
