import type { DueRange } from '@countersign/core/domain/retention';
import type { Transaction } from '../database/transaction.ts';
import { appendEntries, entryOf } from '../ledger/append.ts';
import type { ServiceMetadata } from '../ledger/service-actions.ts';
import type { LockedHead } from '../storage/log-heads.ts';

/** The result of one transaction that drops records. */
export interface DroppedBatch {
  /** The last ID that was considered, after which the next batch starts; undefined after the last batch. */
  next: string | undefined;
  /** The number of dropped traces, telemetry requests or exports. */
  dropped: number;
  /** The number of records that are kept because something names them. */
  held: number;
  /** IDs of segments that could not be read. */
  unreadable: readonly string[];
}

/** The counts of what a batch dropped, as members of its entry in the audit ledger. */
type DropCounts = Exclude<ServiceMetadata<'retention.dropped'>, null>;

/** Appends the entry of the audit ledger for a batch. */
export function recordDrop(tx: Transaction, head: LockedHead, { from, before, days }: DueRange, dropped: DropCounts): void {
  const metadata = { ...dropped, days, received_from: from, received_before: before };
  appendEntries(tx, head, [
    entryOf({ recorded_by: 'system:retention', actor: 'retention', action: 'retention.dropped', metadata }),
  ]);
}
