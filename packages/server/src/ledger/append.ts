import { type ChainedRow, linkEntries, type UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import { v7 as uuidV7 } from 'uuid';
import type { Transaction } from '../database/transaction.ts';
import { digests } from '../digests.ts';
import { insertAuditEntries, type LockedHead, moveHead } from '../storage/ledger.ts';

/** An entry before it has its id, time and place. */
export type NewEntry = Omit<UnlinkedEntry, 'tenant_id' | 'id' | 'recorded_at'>;

/** An entry with only what is said; the rest is null. */
export const entryOf = (said: Pick<NewEntry, 'recorded_by' | 'actor' | 'action'> & Partial<NewEntry>): NewEntry => ({
  subject: null,
  rationale: null,
  framework: null,
  trace_id: null,
  agent_id: null,
  retention_until: null,
  metadata: null,
  ...said,
});

/**
 * The one way to append to a tenant's audit ledger: links the entries behind the locked head and sends the rows and the new head.
 * The rows are committed when the caller's transaction is; `sent` rejects if a statement fails.
 */
export function appendEntries(
  tx: Transaction,
  head: LockedHead,
  entries: readonly NewEntry[],
): { rows: ChainedRow[]; sent: Promise<unknown> } {
  const unlinked = entries.map(
    (entry): UnlinkedEntry => ({ ...entry, tenant_id: tx.tenantId, id: uuidV7(), recorded_at: head.now }),
  );
  const rows = linkEntries(head, unlinked, digests);
  const last = rows.at(-1);
  if (last === undefined) return { rows, sent: Promise.resolve() };
  const sent = Promise.all([
    insertAuditEntries(tx, rows),
    moveHead(tx, 'audit', { ...head, seq: last.entry.seq, rowHash: last.rowHash }),
  ]);
  return { rows, sent };
}
