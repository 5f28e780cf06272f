import type { ChainReport, DroppedTraces } from '@countersign/core/domain/chain-report';
import { shortLine } from './table.ts';

/** Whether a log is valid. */
export const isValid = ({ firstBad, contradiction }: ChainReport): boolean =>
  firstBad === undefined && contradiction === undefined;

/** The report of a verification as a JSON value. */
export function verdictOf(
  { tenantId, entries: count, head, firstBad, contradiction, dropped }: ChainReport,
  keptCount: number,
  areTimesChecked: boolean,
) {
  const tenant = { tenant_id: tenantId ?? null };
  if (firstBad !== undefined) return { result: 'broken', ...tenant, first_bad: firstBad, entries_whole_before: count };
  if (contradiction !== undefined)
    return { result: 'broken', ...tenant, not_met: contradiction, entries: count, head_row_hash: head };
  const facts = { entries: count, head_row_hash: head, times_checked: areTimesChecked };
  const droppedFacts = dropped === undefined ? {} : { dropped_traces: dropped.traces, last_dropped_at: dropped.lastAt };
  return { result: 'ok', ...tenant, ...facts, ...(keptCount === 0 ? {} : { heads_met: keptCount }), ...droppedFacts };
}

/** The report of a verification as one line for people. */
export function sentenceOf(
  { entries: count, head, firstBad, contradiction, dropped }: ChainReport,
  keptCount: number,
  areTimesChecked: boolean,
): string {
  if (firstBad !== undefined) return `broken at seq ${firstBad.seq}: ${shortLine(firstBad.reason, 600)}`;
  if (contradiction !== undefined) return `broken: ${shortLine(`${contradiction.source}: ${contradiction.reason}`, 900)}`;
  const keptText = keptCount === 0 ? '' : `, matches ${keptCount === 1 ? 'the kept head' : `all ${keptCount} kept heads`}`;
  const headText = head === null ? '' : `, head ${head}`;
  return `valid: ${formatEntryCount(count)}${headText}${keptText}${areTimesChecked ? '' : UNCHECKED_TIMES}${droppedText(dropped)}`;
}

const UNCHECKED_TIMES = '; times were not checked: give --audit';

/** The text about the traces that were dropped, according to the log. */
function droppedText(dropped: DroppedTraces | undefined): string {
  if (dropped === undefined) return '';
  const { traces, lastAt } = dropped;
  const [count, were] = traces === 1 ? ['1 trace', 'was'] : [`${traces} traces`, 'were'];
  return `; ${count} ${were} dropped by retention or erasure, the last time on ${lastAt.slice(0, 10)}`;
}

/** `1 entry`, `2 entries`. */
export const formatEntryCount = (count: number): string => (count === 1 ? '1 entry' : `${count} entries`);
