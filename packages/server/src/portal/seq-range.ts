import type { Transaction } from '../database/transaction.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';
import { findSeqAt } from '../storage/portal/ledger.ts';

/** The numbers of a log's rows that were recorded in a range of time and stand below the place where the page before has ended. */
export async function seqRange(
  tx: Transaction,
  log: 'audit' | 'decisions',
  { from, to }: TimeRange,
  after: readonly [string] | null,
): Promise<{ first: number; end: number }> {
  const [first, end] = await Promise.all([
    from === null ? 1 : findSeqAt(tx, log, from),
    to === null ? Number.MAX_SAFE_INTEGER : findSeqAt(tx, log, to),
  ]);
  return { first, end: Math.min(end, after === null ? end : Number(after[0])) };
}
