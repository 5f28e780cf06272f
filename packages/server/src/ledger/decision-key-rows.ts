import type { Pool } from 'pg';
import { inSnapshotTransaction } from '../database/transaction.ts';
import { listDecisionKeyEntries, listDecisionKeys } from '../storage/decision-keys.ts';
import type { RowFinding } from './row-findings.ts';
import { parsedDocument } from './stored-document.ts';

/** The table whose rows must match the audit ledger. */
export const DECISION_KEYS_TABLE = 'decision_keys';

/**
 * Finds a decision key that was deleted, or whose retirement was undone, if any. A deleted key does not sign, so another key signs before
 * the gates have it. A key is known from the entries that name it; the only key of a workspace without a rotation is in no entry. The
 * entries are not verified here: `verifyAuditLedger` does that.
 */
export const decisionKeyFinding = (pool: Pool, tenantId: string): Promise<RowFinding | undefined> =>
  inSnapshotTransaction(pool, tenantId, async (tx) => {
    const documents = await listDecisionKeyEntries(tx);
    const rows = new Map((await listDecisionKeys(tx)).map((row) => [row.keyId, row]));
    for (const { action, metadata } of documents.map(entryOf)) {
      for (const id of [metadata.key_id, metadata.signing]) {
        if (typeof id === 'string' && !rows.has(id)) return finding(id, 'it is gone, or its seal is not valid');
      }
      const { key_id: id } = metadata;
      if (action === 'decision_key.retired' && typeof id === 'string' && rows.get(id)?.retiredAt === null)
        return finding(id, 'it was retired, and its row is that of a live key');
    }
    return undefined;
  });

const finding = (id: string, fault: string): RowFinding => ({ table: DECISION_KEYS_TABLE, id, fault });

/** The action and the metadata of an entry; the metadata is empty if it is not an object. */
function entryOf(document: string): { action: unknown; metadata: Record<string, unknown> } {
  const { action, metadata } = parsedDocument(document) ?? {};
  return { action, metadata: typeof metadata === 'object' && metadata !== null ? { ...metadata } : {} };
}
