import type { ClockCorrection } from '@countersign/core/domain/clock-correction';
import type { Transaction } from '../database/transaction.ts';
import { readCorrections } from '../ledger/stored-corrections.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';
import { findSeqAt } from '../storage/portal/ledger.ts';

/**
 * The numbers of a log's rows that were recorded in a range of time and stand below the place where the page before has ended. Rows with
 * times in the future, from before a clock was corrected, count as recorded at the correction: numbers in a range are without gaps.
 */
export async function seqRange(
  tx: Transaction,
  log: 'audit' | 'decisions',
  { from, to }: TimeRange,
  after: readonly [string] | null,
): Promise<{ first: number; end: number }> {
  const corrections = from === null && to === null ? [] : await readCorrections(tx);
  const seqAt = (at: string) => findSeqAt(tx, log, at, correctedBefore(corrections, log, at));
  const [first, end] = await Promise.all([from === null ? 1 : seqAt(from), to === null ? Number.MAX_SAFE_INTEGER : seqAt(to)]);
  return { first, end: Math.min(end, after === null ? end : Number(after[0])) };
}

/** The number of the last row that stands before a correction of the log which was made before a moment; 0 without one. */
function correctedBefore(corrections: readonly ClockCorrection[], log: 'audit' | 'decisions', at: string): number {
  const atMs = Date.parse(at);
  return Math.max(0, ...corrections.map(({ [log]: step }) => (step && Date.parse(step.after) < atMs ? step.size : 0)));
}
