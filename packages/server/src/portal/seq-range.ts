import type { ClockCorrection } from '@countersign/core/domain/clock-correction';
import type { Transaction } from '../database/transaction.ts';
import { readCorrections } from '../ledger/stored-corrections.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';
import { findSeqAt } from '../storage/portal/ledger.ts';

/**
 * The numbers of a log's rows in a range of time: from `first` to below `end`, and below `after`, the last row of the previous page. Rows
 * whose times were in the future when the clock was corrected count as recorded at the correction, so that the numbers in a range have no
 * gaps.
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

/** The number of the last row before a correction of the log that was made before a time; 0 if there is none. */
function correctedBefore(corrections: readonly ClockCorrection[], log: 'audit' | 'decisions', at: string): number {
  const atMs = Date.parse(at);
  return Math.max(0, ...corrections.map(({ [log]: step }) => (step && Date.parse(step.after) < atMs ? step.size : 0)));
}
