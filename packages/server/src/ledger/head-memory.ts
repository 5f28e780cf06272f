import { sameBytes } from '@countersign/core/domain/signed-note';
import type { Transaction } from '../database/transaction.ts';
import type { LogName, StoredTree } from '../storage/log-heads.ts';
import { openFrontier, storedRoot } from './log-tree.ts';

/** Heads remembered at once; beyond, the one that was touched longest ago is forgotten. */
const HEADS_MAX = 30_000;

/** The last committed heads that this process has seen of each log of one database. */
type Heads = Map<string, StoredTree>;

const memories = new WeakMap<object, Heads>();

function headsOf({ seals }: Transaction): Heads {
  let heads = memories.get(seals);
  if (heads === undefined) {
    heads = new Map();
    memories.set(seals, heads);
  }
  return heads;
}

const keyOf = (tx: Transaction, log: LogName): string => `${tx.tenantId} ${log}`;

/** The last committed head that this process has seen of a log. To be taken before a statement that reads the head is sent. */
export const lastSeen = (tx: Transaction, log: LogName): StoredTree | undefined => headsOf(tx).get(keyOf(tx, log));

/** Remembers a committed head, unless a later one is known. */
export function rememberSeen(tx: Transaction, log: LogName, { size, frontier }: StoredTree): void {
  const heads = headsOf(tx);
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
