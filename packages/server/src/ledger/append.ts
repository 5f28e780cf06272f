import { type ChainedRow, linkEntries, type UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { insertAuditEntries } from '../storage/ledger.ts';
import type { LockedHead } from '../storage/log-heads.ts';
import { newId } from '../storage/new-id.ts';
import { advance } from './advance.ts';
import type { GrownTree } from './log-tree.ts';
import type { ServiceAction, ServiceMetadata } from './service-actions.ts';

/** An entry before it has its id, time and place. */
export type NewEntry = Omit<UnlinkedEntry, 'tenant_id' | 'id' | 'recorded_at'>;

/** An entry that the service writes itself: the action, its metadata, and any other member. */
export type ServiceEntry<A extends ServiceAction> = Partial<Omit<NewEntry, 'action' | 'metadata'>> & {
  action: A;
  metadata?: ServiceMetadata<A>;
};

/** An entry of the service with only what is said; the rest is null. */
export const entryOf = <A extends ServiceAction>({
  metadata = null,
  ...said
}: ServiceEntry<A> & Pick<NewEntry, 'recorded_by' | 'actor'>): NewEntry => ({
  subject: null,
  rationale: null,
  framework: null,
  trace_id: null,
  agent_id: null,
  retention_until: null,
  ...said,
  metadata: metadata as NewEntry['metadata'],
});

/**
 * The one way to append to a tenant's audit ledger: links the entries behind the locked (or guessed) head and sends the new head and the
 * rows. The rows are committed when the caller's transaction is.
 */
export function appendEntries(
  tx: Transaction,
  head: LockedHead,
  entries: readonly NewEntry[],
): { rows: ChainedRow[]; tree: GrownTree; moved: LockedHead } {
  const unlinked = entries.map(
    (entry): UnlinkedEntry => ({ ...entry, tenant_id: tx.tenantId, id: newId(), recorded_at: head.now }),
  );
  const rows = linkEntries(head, unlinked, digests);
  const leafData = rows.map(({ rowHash }) => Buffer.from(rowHash, 'hex'));
  const { tree, moved } = advance(tx, 'audit', head, leafData, rows.at(-1)?.rowHash ?? head.rowHash);
  if (rows.length > 0) insertAuditEntries(tx, rows);
  return { rows, tree, moved };
}
