import type { DueRange } from '@countersign/core/domain/retention';
import type { Transaction } from '../database/transaction.ts';
import { appendDropEvent } from '../ledger/trace-log.ts';
import { allowDropping, insertDroppedTraces } from '../storage/dropped-traces.ts';
import { DROPPED_TRACES_MAX, deleteTraces, lockDueTraces, readDueTraces } from '../storage/due-traces.ts';
import { removeRunIds } from '../storage/run-id-segments.ts';
import { type DroppedBatch, recordDrop } from './dropped-batch.ts';
import { lockHeadsUnlessHeld } from './lock-heads.ts';
import { documentsOf, removeDocuments } from './remove-documents.ts';
import { requireLoggedTraces } from './require-logged-traces.ts';

/**
 * Drops the next traces of a range, with their submissions, steps and log records. The trace log and the audit ledger record the drop. A
 * trace is kept if its run must be kept (`isHeld` in storage/run-holds.ts), or if one of its submissions is not due. A trace without
 * submissions is kept too: it was changed outside the server, and an event of the log cannot describe it.
 * @param ids the bounds of their IDs: the first excluded, the last included.
 * @param range the due range in which the first submissions of the traces were received.
 * @param allRanges all due ranges of traces. Each submission of a trace must be in one of them.
 * @param today the date, YYYY-MM-DD. An audit entry with an earlier retention date does not keep a run, unless its action is
 *   `incident.created`.
 * @throws RunHeldError if one of the runs must be kept because of a record that was written after the batch was read.
 * @throws RuleViolationError if a row or a document of a due trace differs from the trace log.
 * @throws LogRewrittenError if the trace log was changed outside the server.
 */
export async function dropTraces(
  tx: Transaction,
  ids: readonly [string, string],
  { range, allRanges }: { range: DueRange; allRanges: readonly DueRange[] },
  today: string,
): Promise<DroppedBatch> {
  const lockedIds = await lockDueTraces(tx, ids, range);
  const next = lockedIds.length === DROPPED_TRACES_MAX ? lockedIds.at(-1) : undefined;
  const traces = await readDueTraces(tx, lockedIds, allRanges, today);
  const completelyDue = traces.filter(({ isPartlyDue }) => !isPartlyDue);
  const due = completelyDue.filter(({ isHeld, submissions: stored }) => !isHeld && stored.length > 0);
  const held = completelyDue.length - due.length;
  if (due.length === 0) return { next, dropped: 0, held, unreadable: [] };
  const loggedSubmissions = await requireLoggedTraces(tx, due);
  const dueIds = due.map(({ id }) => id);
  const traceIds = due.map(({ traceId }) => traceId);
  allowDropping(tx);
  const { submissions } = await deleteTraces(tx, { ids: dueIds, traceIds });
  const unreadable = await removeDocuments(tx, documentsOf(submissions, loggedSubmissions));
  await removeRunIds(tx, 'trace', dueIds);
  const heads = await lockHeadsUnlessHeld(tx, ['audit', 'traces'], traceIds, today);
  const seq = appendDropEvent(tx, heads.traces, {
    reason: 'retention',
    traces: due.map(({ id, submissions: stored }) => ({ id, submissions: stored.length })),
    exports: [],
  });
  insertDroppedTraces(tx, dueIds, seq);
  recordDrop(tx, heads.audit, range, {
    kind: 'traces',
    traces: due.length,
    submissions: submissions.length,
    traces_log_seq: seq,
  });
  return { next, dropped: due.length, held, unreadable };
}
