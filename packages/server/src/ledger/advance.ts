import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_DIFFERENCE_MAX_MS, type ClockReading } from '@countersign/core/domain/clock-guard';
import { clockBehindLog } from '../database/clock.ts';
import type { Transaction } from '../database/transaction.ts';
import type { HeadToMove, LogName, ReadHead } from '../storage/log-heads.ts';
import { insertTreeNodes } from '../storage/tree.ts';
import { type GrownTree, growTree } from './log-tree.ts';
import { reportRowAfterHead } from './row-after-head.ts';
import { lockAndReadSealedHeads, lockSealedHeads, moveSealedHead } from './sealed-heads.ts';

/**
 * Locks the heads of a tenant's logs, always in the same order. Except for appends that guess the head (remembered-heads.ts), and for the
 * correction of a clock (workspace/correct-clock.ts), every append calls this function or `lockLogsAndRead` before it numbers its rows.
 * Throws LogRewrittenError if a head was changed outside the server, and ClockUnsafeError if the clocks cannot be used
 * (docs/reliability.md).
 * @param sendAfterLocks sends a statement that runs after the locks, in the same round trip.
 */
export async function lockLogs<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  sendAfterLocks?: () => void,
): Promise<Record<L, HeadToMove>> {
  const before = tx.clock.read();
  const heads = await lockSealedHeads(tx, logs, sendAfterLocks);
  await awaitUsableClock(tx, before, heads);
  return heads;
}

/** Does the same as `lockLogs`, and then reads the head of another log without locking it. */
export async function lockLogsAndRead<L extends LogName>(
  tx: Transaction,
  logs: readonly L[],
  other: LogName,
  sendAfterLocks: () => void,
): Promise<{ locked: Record<L, HeadToMove>; read: ReadHead }> {
  const before = tx.clock.read();
  const heads = await lockAndReadSealedHeads(tx, logs, other, sendAfterLocks);
  await awaitUsableClock(tx, before, heads.locked);
  return heads;
}

/**
 * Throws if the clocks disagree, or if the time of a log's last row is more than CLOCK_DIFFERENCE_MAX_MS ahead of the database's clock. If
 * the time is ahead by less, waits until the clock has caught up, so that no record gets a time in the future.
 */
async function awaitUsableClock(
  tx: Transaction,
  before: ClockReading,
  heads: Readonly<Record<string, HeadToMove>>,
): Promise<void> {
  let leadMs = 0;
  for (const [log, { clock, now }] of Object.entries(heads)) {
    tx.clock.requireAgreement(before, clock);
    const aheadMs = now === clock ? 0 : Date.parse(now) - Date.parse(clock);
    if (aheadMs > CLOCK_DIFFERENCE_MAX_MS) throw clockBehindLog(log, now, aheadMs);
    leadMs = Math.max(leadMs, aheadMs);
  }
  if (leadMs > 0) await sleep(leadMs);
}

/** The next state of a log's head, and its tree. */
export interface NextHead {
  tree: GrownTree;
  moved: HeadToMove;
}

/**
 * Extends a log by appended rows: adds their leaf data to its tree, and sends the statements of `moveLog`. Sends nothing without rows.
 * @param rowHash the hash of the last row, for the logs whose heads contain it; null for the other logs.
 * @returns the new tree and head.
 */
export function advanceHead(
  tx: Transaction,
  log: LogName,
  head: HeadToMove,
  leafData: readonly Uint8Array[],
  rowHash: string | null,
): NextHead {
  const next = nextHead(head, leafData, rowHash);
  if (leafData.length > 0) moveLog(tx, log, next);
  return next;
}

/** Computes the head of a log after rows with this leaf data are appended. Sends no statement. */
export function nextHead(head: HeadToMove, leafData: readonly Uint8Array[], rowHash: string | null): NextHead {
  const tree = growTree(head.tree, leafData);
  if (leafData.length === 0) return { tree, moved: head };
  return { tree, moved: { ...head, seq: tree.size, rowHash, tree: { size: tree.size, frontier: tree.frontier } } };
}

/** Moves a log to its next head, and stores the new tree nodes. The head is moved first, because the move locks a guessed head. */
export function moveLog(tx: Transaction, log: LogName, { tree, moved }: NextHead): void {
  reportRowAfterHead(tx, log, { lastSeq: moved.seq, hasNodes: tree.nodes.length > 0 });
  moveSealedHead(tx, log, moved);
  insertTreeNodes(tx, log, tree.nodes);
}
