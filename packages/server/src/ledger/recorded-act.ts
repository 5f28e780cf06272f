import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { digests } from '../crypto/digests.ts';
import type { Transaction } from '../database/transaction.ts';
import { findActEntry } from '../storage/act-entries.ts';
import type { StoredHead } from '../storage/log-heads.ts';
import { isIncluded, LogRewrittenError } from './log-tree.ts';
import type { ServiceAction } from './service-actions.ts';
import { parsedDocument } from './stored-document.ts';

/** An act of a person or an operator, as the audit ledger has it. */
export interface RecordedAct {
  seq: number;
  action: ServiceAction;
  recorded_at: string;
  recorded_by: string;
  agent_id: string | null;
  rationale: string | null;
  metadata: Readonly<Record<string, unknown>>;
}

/**
 * Finds the newest act with one of these actions whose entry contains one of `parts`, such as `"incident_id":"…"`. In canonical JSON, no
 * string contains an unescaped quotation mark, so only a member of the entry matches. The entry must be in the tree of the sealed head. The
 * entry is found by its columns. If they were changed, the function finds no entry or an older one.
 * @param head the sealed head of the audit ledger.
 * @throws LogRewrittenError if the entry was added or changed outside the server.
 */
export async function findRecordedAct(
  tx: Transaction,
  head: Pick<StoredHead, 'seq' | 'tree'>,
  actions: readonly ServiceAction[],
  parts: readonly string[],
): Promise<RecordedAct | undefined> {
  const rows = await Promise.all(actions.map((action) => findActEntry(tx, head.seq, action, parts)));
  const newest = rows.filter((row) => row !== undefined).sort((one, other) => other.seq - one.seq)[0];
  if (newest === undefined) return undefined;
  const { seq, document } = newest;
  const entry = parsedDocument(document) as unknown as RecordedAct | undefined;
  const leafData = Buffer.from(rowHashOf(document, digests), 'hex');
  const isGenuine = await isIncluded(tx, 'audit', { seq, leafData }, head);
  if (entry === undefined || !isGenuine || !actions.includes(entry.action) || entry.recorded_by.startsWith('key:'))
    throw new LogRewrittenError(`the log audit of tenant ${tx.tenantId}: entry ${seq} was added or changed outside the server`);
  return entry;
}
