import type { DueRange } from '@countersign/core/domain/retention';
import type { Transaction } from '../database/transaction.ts';
import { appendEntries, entryOf } from '../ledger/append.ts';
import type { ServiceMetadata } from '../ledger/service-actions.ts';
import type { HeadToMove } from '../storage/log-heads.ts';

/** The result of one transaction that drops records. */
export interface DroppedBatch {
  /** The last ID that was considered, after which the next batch starts; undefined after the last batch. */
  next: string | undefined;
  /** The number of dropped traces, telemetry requests or exports. */
  dropped: number;
  /**
   * The number of due records that were kept: records of runs that must be kept (`isHeld` in storage/run-holds.ts), and traces without
   * submissions. Always 0 for exports.
   */
  held: number;
  /** The result of `removeDocuments`: IDs of segments that are missing or unreadable. */
  unreadable: readonly string[];
}

/**
 * What a batch dropped, as members of its entry in the audit ledger: the kind of the records, the counts, and for traces the number of the
 * event in the trace log.
 */
type DropCounts = Exclude<ServiceMetadata<'retention.dropped'>, null>;

/** Appends the audit entry for a batch. The range contains the times of the records; for traces, the times of their first submissions. */
export function recordDrop(tx: Transaction, head: HeadToMove, { from, before, days }: DueRange, dropped: DropCounts): void {
  const metadata = { ...dropped, days, received_from: from, received_before: before };
  appendEntries(tx, head, [
    entryOf({ recorded_by: 'system:retention', actor: 'retention', action: 'retention.dropped', metadata }),
  ]);
}
