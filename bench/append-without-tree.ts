import { operations } from '../packages/core/src/contract/operations.ts';
import { linkEntries } from '../packages/core/src/domain/audit-chain.ts';
import { digests } from '../packages/server/src/crypto/digests.ts';
import type { Transaction } from '../packages/server/src/database/transaction.ts';
import { ingestReply } from '../packages/server/src/ingest/ingest-request.ts';
import { commitWithReplays, type Outcome } from '../packages/server/src/ingest/replays.ts';
import type { PreparedAudit } from '../packages/server/src/ingest/write-audit.ts';
import type { appendEntries, NewEntry } from '../packages/server/src/ledger/append.ts';
import type { RememberedHeads } from '../packages/server/src/ledger/remembered-heads.ts';
import { moveSealedHead } from '../packages/server/src/ledger/sealed-heads.ts';
import { insertAuditEntries } from '../packages/server/src/storage/ledger.ts';
import { type HeadToMove, lockHeads } from '../packages/server/src/storage/log-heads.ts';
import { newId } from '../packages/server/src/storage/new-id.ts';

/** Appends entries after a head. */
type Append = (
  tx: Transaction,
  head: HeadToMove,
  entries: readonly NewEntry[],
) => Pick<ReturnType<typeof appendEntries>, 'rows' | 'moved'>;

/**
 * Returns a function that writes a batch of entries that name no agent. `append` writes them with the tree or without it. Unlike the
 * product, the function uses a remembered head for batches of every size. The product rejects a ledger that was written without its tree.
 * So `appendWithoutTree` needs a workspace that only the benchmark writes to, and a server that creates no checkpoints.
 */
export const auditWriter =
  (append: Append, heads: RememberedHeads) =>
  async (tx: Transaction, items: readonly PreparedAudit[]): Promise<Outcome[]> => {
    const head = heads.get(tx.tenantId) ?? (await lockHeads(tx, ['audit'])).get('audit')!;
    let newHead: HeadToMove | undefined;
    const outcomes = await commitWithReplays(tx, operations.appendAuditEntry.path, items, async (newItems) => {
      const { rows, moved } = append(
        tx,
        head,
        newItems.map(({ entry }) => entry),
      );
      newHead = moved;
      return rows.map(({ entry: { id, prev_hash, seq }, rowHash }) =>
        ingestReply({ ok: true, id, row_hash: rowHash, prev_hash }, { 'Countersign-Ledger-Seq': String(seq) }),
      );
    });
    if (newHead !== undefined) heads.remember(tx.tenantId, newHead);
    return outcomes;
  };

/** Does the same as `appendEntries`, but does not update the tree. */
export const appendWithoutTree: Append = (tx, head, entries) => {
  const unlinked = entries.map((entry) => ({ ...entry, tenant_id: tx.tenantId, id: newId(), recorded_at: head.now }));
  const rows = linkEntries(head, unlinked, digests);
  const { seq } = rows.at(-1)!.entry;
  const moved: HeadToMove = { ...head, seq, rowHash: rows.at(-1)!.rowHash };
  moveSealedHead(tx, 'audit', moved);
  insertAuditEntries(tx, rows);
  return { rows, moved };
};
