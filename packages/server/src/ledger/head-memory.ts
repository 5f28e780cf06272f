import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { type Seals, sealsOf } from '../database/seals.ts';
import type { Transaction } from '../database/transaction.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { openFrontier, storedRoot } from './log-tree.ts';

/** Heads remembered at once; beyond, the one that was touched longest ago is forgotten. */
const HEADS_MAX = 30_000;

/** What this process knows of the logs of one database. */
interface Memory {
  /** The last committed heads that it has seen. */
  heads: Map<string, StoredTree>;
  /** Logs whose head was not believed when it was last read. */
  refused: Set<string>;
}

const memories = new WeakMap<Seals, Memory>();

function memoryOf(seals: Seals): Memory {
  let memory = memories.get(seals);
  if (memory === undefined) {
    memory = { heads: new Map(), refused: new Set() };
    memories.set(seals, memory);
  }
  return memory;
}

/** Takes note of whether a log's head was believed when it was read. */
export function noteBelief(tx: Transaction, log: LogName, isBelieved: boolean): void {
  const { refused } = memoryOf(tx.seals);
  if (isBelieved) refused.delete(keyOf(tx, log));
  else if (refused.size < HEADS_MAX) refused.add(keyOf(tx, log));
}

/** How many logs of a pool's database were not believed when they were last read. */
export function countRefusedLogs(pool: Pool): number {
  const seals = sealsOf(pool);
  return seals === undefined ? 0 : memoryOf(seals).refused.size;
}

const keyOf = (tx: Transaction, log: LogName): string => `${tx.tenantId} ${log}`;

/** The last committed head that this process has seen of a log. To be taken before a statement that reads the head is sent. */
export const lastSeen = (tx: Transaction, log: LogName): StoredTree | undefined => memoryOf(tx.seals).heads.get(keyOf(tx, log));

/** Remembers a committed head, unless a later one is known. */
export function rememberSeen(tx: Transaction, log: LogName, { size, frontier }: StoredTree): void {
  const { heads } = memoryOf(tx.seals);
  const key = keyOf(tx, log);
  if ((heads.get(key)?.size ?? -1) > size) return;
  heads.delete(key);
  heads.set(key, { size, frontier });
  if (heads.size > HEADS_MAX) heads.delete(heads.keys().next().value!);
}

/**
 * Why a head does not continue the log that this process has seen; undefined when it does. A seal says that the server has written a head,
 * not that it is the newest one: an older state of the database, restored with its seals, shows here.
 */
export async function continuityFault(
  tx: Transaction,
  log: LogName,
  seen: StoredTree | undefined,
  tree: StoredTree,
): Promise<string | undefined> {
  if (seen === undefined || seen.size === 0) return undefined;
  if (tree.size < seen.size)
    return `it has ${tree.size} rows, and this server has seen ${seen.size}: an older state was restored`;
  const rootSeen = openFrontier(seen).root();
  const root = tree.size === seen.size ? openFrontier(tree).root() : await storedRoot(tx, log, seen.size);
  if (sameBytes(root, rootSeen)) return undefined;
  return `its first ${seen.size} rows are not those that this server has seen: an older state was restored, and went on otherwise`;
}
