import type { DueRange } from '@countersign/core/domain/retention';
import type { Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import { allowDropping } from '../storage/dropped-traces.ts';
import { DROPPED_EXPORTS_MAX, deleteDueExports } from '../storage/due-exports.ts';
import { deleteExportRuns } from '../storage/export-runs.ts';
import { type DroppedBatch, recordDrop } from './dropped-batch.ts';
import { removeDocuments } from './remove-documents.ts';

/**
 * Drops the next OpenTelemetry exports of a range, and records the drop in the audit ledger. An export is kept while a submission that was
 * mapped from it is stored.
 * @param ids the bounds of their IDs: the first excluded, the last included.
 */
export async function dropExports(tx: Transaction, ids: readonly [string, string], range: DueRange): Promise<DroppedBatch> {
  allowDropping(tx);
  const exports = await deleteDueExports(tx, ids, range);
  if (exports.length === 0) return { next: undefined, dropped: 0, held: 0, unreadable: [] };
  deleteExportRuns(
    tx,
    exports.map(({ id }) => id),
  );
  const unreadable = await removeDocuments(tx, exports);
  const { audit } = await lockLogs(tx, ['audit']);
  recordDrop(tx, audit, range, { kind: 'exports', exports: exports.length });
  const last = exports
    .map(({ id }) => id)
    .sort()
    .at(-1);
  return { next: exports.length === DROPPED_EXPORTS_MAX ? last : undefined, dropped: exports.length, held: 0, unreadable };
}
