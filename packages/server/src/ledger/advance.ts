import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_DIFFERENCE_MAX_MS, type ClockReading } from '@countersign/core/domain/clock-guard';
import { clockBehindLog } from '../database/clock.ts';
import type { Transaction } from '../database/transaction.ts';
import { type LockedHead, type LogName, lockHeads, moveGuessedHead, moveHead } from '../storage/ledger.ts';
import { insertTreeNodes } from '../storage/tree.ts';
import { catchUp, type GrownTree, growTree } from './log-tree.ts';

/**
 * Locks the heads of a tenant's logs, in one order everywhere, with their trees up to their rows. Must be the first thing that an
 * appending transaction does. Throws ClockUnsafeError when no moment can be taken from the clocks (docs/reliability.md).
 */
export async function lockLogs<L extends LogName>(tx: Transaction, logs: readonly L[]): Promise<Record<L, LockedHead>> {
  const before = tx.clock.read();
  const heads = await lockHeads(tx, logs);
  await requireMoments(tx, before, heads);
  return withTrees(tx, logs, heads);
}

/** The locked heads of logs with their trees up to their rows. */
export async function withTrees<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  heads: ReadonlyMap<LogName, LockedHead>,
): Promise<Record<L, LockedHead>> {
  const locked = {} as Record<L, LockedHead>;
  for (const log of logs) {
    const head = heads.get(log);
    if (head === undefined) throw new Error(`tenant ${tx.tenantId} has no head of the log ${log}`);
    locked[log] = head.tree.size === head.seq ? head : await withTree(tx, log, head);
  }
  return locked;
}

/**
 * Throws unless the clocks agree. Where a log's last moment is ahead of the database's clock by a little, waits until the clock has caught
 * up, so that nothing bears a moment of the future; where by more, throws.
 */
async function requireMoments(tx: Transaction, before: ClockReading, heads: ReadonlyMap<LogName, LockedHead>): Promise<void> {
  let leadMs = 0;
  for (const [log, { clock, now }] of heads) {
    tx.clock.requireAgreement(before, clock);
    const ahead = now === clock ? 0 : Date.parse(now) - Date.parse(clock);
    if (ahead > CLOCK_DIFFERENCE_MAX_MS) throw clockBehindLog(log, now, ahead);
    leadMs = Math.max(leadMs, ahead);
  }
  if (leadMs > 0) await sleep(leadMs);
}

/** A log that was written by a version without trees gets its own, once. */
async function withTree(tx: Transaction, log: LogName, head: LockedHead): Promise<LockedHead> {
  const tree = await catchUp(tx, log, head.tree, head.seq);
  await insertTreeNodes(tx, log, tree.nodes);
  const caughtUp = { ...head, tree: { size: tree.size, frontier: tree.frontier } };
  await moveHead(tx, log, caughtUp);
  return caughtUp;
}

/**
 * The one way to move a log on: grows its tree by the leaf data of the rows just appended, stores what is complete, moves the head.
 * @param rowHash the last row's, for the log whose rows are chained; null for the others.
 * @returns the tree and the head as they are now; `sent` rejects if a statement fails.
 */
export function advance(
  tx: Transaction,
  log: LogName,
  head: LockedHead,
  leafData: readonly Uint8Array[],
  rowHash: string | null,
): { tree: GrownTree; moved: LockedHead; sent: Promise<unknown> } {
  const tree = growTree(head.tree, leafData);
  if (leafData.length === 0) return { tree, moved: head, sent: Promise.resolve() };
  const moved: LockedHead = { ...head, seq: tree.size, rowHash, tree: { size: tree.size, frontier: tree.frontier } };
  // First of all: a guessed head is locked by being moved, and heads come before rows in the order of locks.
  const { guessed } = head;
  const movedIt = guessed === undefined ? moveHead(tx, log, moved) : moveGuessedHead(tx, log, guessed, moved);
  return { tree, moved, sent: Promise.all([movedIt, insertTreeNodes(tx, log, tree.nodes)]) };
}
