import type { DueRange } from '@countersign/core/domain/retention';
import type { Transaction } from '../database/transaction.ts';
import { allowDropping } from '../storage/dropped-traces.ts';
import { DROPPED_SUBMISSIONS_MAX, deleteTelemetry, findDueTelemetry } from '../storage/due-telemetry.ts';
import { removeRunIds } from '../storage/run-id-segments.ts';
import { type DroppedBatch, recordDrop } from './dropped-batch.ts';
import { lockHeadsUnlessHeld } from './lock-heads.ts';
import { removeDocuments } from './remove-documents.ts';

/**
 * Drops the next telemetry requests of a range with their events, and records the drop in the audit ledger. A request is kept if one of its
 * runs must be kept (`isHeld` in storage/run-holds.ts).
 * @param ids the bounds of their IDs: the first excluded, the last included.
 * @param today the date, YYYY-MM-DD. An audit entry with an earlier retention date does not keep a run, unless its action is
 *   `incident.created`.
 * @throws RunHeldError if one of the runs must be kept because of a record that was written after the batch was read.
 */
export async function dropTelemetry(
  tx: Transaction,
  ids: readonly [string, string],
  range: DueRange,
  today: string,
): Promise<DroppedBatch> {
  const requests = await findDueTelemetry(tx, ids, range, today);
  const next = requests.length === DROPPED_SUBMISSIONS_MAX ? requests.at(-1)!.id : undefined;
  const dueIds = requests.filter(({ isHeld }) => !isHeld).map(({ id }) => id);
  const held = requests.length - dueIds.length;
  if (dueIds.length === 0) return { next, dropped: 0, held, unreadable: [] };
  allowDropping(tx);
  const { documents, traceIds } = await deleteTelemetry(tx, dueIds);
  const unreadable = await removeDocuments(tx, documents);
  await removeRunIds(tx, 'telemetry', dueIds);
  const { audit } = await lockHeadsUnlessHeld(tx, ['audit'], [...new Set(traceIds)], today);
  recordDrop(tx, audit, range, { kind: 'telemetry', submissions: dueIds.length, telemetry_events: traceIds.length });
  return { next, dropped: dueIds.length, held, unreadable };
}
