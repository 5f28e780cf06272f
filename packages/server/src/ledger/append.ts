import { type ChainedRow, linkEntries, type UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { insertAuditEntries } from '../storage/ledger.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { newId } from '../storage/new-id.ts';
import { advanceHead } from './advance.ts';
import type { GrownTree } from './log-tree.ts';
import type { ServiceAction, ServiceMetadata } from './service-actions.ts';

/** An entry to append, without its tenant, ID and time. */
export type NewEntry = Omit<UnlinkedEntry, 'tenant_id' | 'id' | 'recorded_at'>;

/** An entry that the service writes itself: the action, its metadata, and optionally other members. */
export type ServiceEntry<A extends ServiceAction> = Partial<Omit<NewEntry, 'action' | 'metadata'>> & {
  action: A;
  metadata?: ServiceMetadata<A>;
};

/** Creates an entry of the service. Members that are not given are null. */
export const entryOf = <A extends ServiceAction>({
  metadata = null,
  ...members
}: ServiceEntry<A> & Pick<NewEntry, 'recorded_by' | 'actor'>): NewEntry => ({
  subject: null,
  rationale: null,
  framework: null,
  trace_id: null,
  agent_id: null,
  retention_until: null,
  ...members,
  metadata: metadata as NewEntry['metadata'],
});

/**
 * Appends to a tenant's audit ledger: links the entries to the head, which is locked or guessed (`HeadToMove`), and sends the new head and
 * the rows. They are committed with the caller's transaction. Nothing else appends audit entries.
 * @returns the linked rows, the tree over the ledger with them, and the new head.
 */
export function appendEntries(
  tx: Transaction,
  head: HeadToMove,
  entries: readonly NewEntry[],
): { rows: ChainedRow[]; tree: GrownTree; moved: HeadToMove } {
  const unlinked = entries.map(
    (entry): UnlinkedEntry => ({ ...entry, tenant_id: tx.tenantId, id: newId(), recorded_at: head.now }),
  );
  const rows = linkEntries(head, unlinked, digests);
  const leafData = rows.map(({ rowHash }) => Buffer.from(rowHash, 'hex'));
  const { tree, moved } = advanceHead(tx, 'audit', head, leafData, rows.at(-1)?.rowHash ?? head.rowHash);
  if (rows.length > 0) insertAuditEntries(tx, rows);
  return { rows, tree, moved };
}
