import type { ClockCorrection } from '@countersign/core/domain/clock-correction';
import type { Transaction } from '../database/transaction.ts';
import { readCorrections } from '../ledger/operator-entries.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';
import { findSeqAt } from '../storage/portal/ledger.ts';

/**
 * The range of row numbers for a range of time: `first` (included) to `end` (excluded). If the times of rows were in the
 * future when a clock was corrected, the rows count as recorded at the time of the correction. So a range has no gaps.
 * @param after the number of the last row of the previous page; the range ends before it. Null for the first page.
 */
export async function findSeqRange(
  tx: Transaction,
  log: 'audit' | 'decisions',
  { from, to }: TimeRange,
  after: readonly [string] | null,
): Promise<{ first: number; end: number }> {
  const corrections = from === null && to === null ? [] : await readCorrections(tx);
  const seqAt = (at: string) => findSeqAt(tx, log, at, sizeAtLastCorrection(corrections, log, at));
  const [first, end] = await Promise.all([from === null ? 1 : seqAt(from), to === null ? Number.MAX_SAFE_INTEGER : seqAt(to)]);
  return { first, end: Math.min(end, after === null ? end : Number(after[0])) };
}

/** The size of the log at its last clock correction earlier than `at`; 0 if there is none. */
function sizeAtLastCorrection(corrections: readonly ClockCorrection[], log: 'audit' | 'decisions', at: string): number {
  const atMs = Date.parse(at);
  return Math.max(0, ...corrections.map(({ [log]: step }) => (step && Date.parse(step.after) < atMs ? step.size : 0)));
}
