import type { Pool } from 'pg';
import { inSnapshotTransaction } from '../database/transaction.ts';
import { listDecisionKeyEntries, listDecisionKeys, NO_LIVE_KEY } from '../storage/decision-keys.ts';
import type { RowFinding } from './row-findings.ts';
import { parsedDocument } from './stored-document.ts';

/** The table whose rows must match the audit ledger. */
export const DECISION_KEYS_TABLE = 'decision_keys';

/**
 * Finds the first fault of a workspace's decision keys: the row of a key is gone or has no valid seal, a retired key is live again, or no
 * key is live. Undefined if there is no fault. If the row of the signing key is deleted, the next key signs, although gates may not trust
 * it yet. The search covers only keys that an entry of the audit ledger names. Before the first rotation, no entry names the only key: if
 * its row is deleted, no live key is left. The entries are not verified here: `verifyAuditLedger` does that.
 */
export const findDecisionKeyFault = (pool: Pool, tenantId: string): Promise<RowFinding | undefined> =>
  inSnapshotTransaction(pool, tenantId, async (tx) => {
    const documents = await listDecisionKeyEntries(tx);
    const rows = new Map((await listDecisionKeys(tx)).map((row) => [row.keyId, row]));
    for (const { action, metadata } of documents.map(entryOf)) {
      for (const id of [metadata.key_id, metadata.signing]) {
        if (typeof id === 'string' && !rows.has(id)) return finding(id, 'it is gone, or its seal is not valid');
      }
      const { key_id: id } = metadata;
      if (action === 'decision_key.retired' && typeof id === 'string' && rows.get(id)?.retiredAt === null)
        return finding(id, 'it was retired, but its row says that it is not');
    }
    const isAnyLive = [...rows.values()].some(({ retiredAt }) => retiredAt === null);
    return isAnyLive ? undefined : finding(`of workspace ${tenantId}`, NO_LIVE_KEY);
  });

const finding = (id: string, fault: string): RowFinding => ({ table: DECISION_KEYS_TABLE, id, fault });

/** The action and the metadata of an entry; the metadata is empty if it is not an object. */
function entryOf(document: string): { action: unknown; metadata: Record<string, unknown> } {
  const { action, metadata } = parsedDocument(document) ?? {};
  return { action, metadata: typeof metadata === 'object' && metadata !== null ? { ...metadata } : {} };
}
