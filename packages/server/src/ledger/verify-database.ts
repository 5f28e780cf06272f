import { NO_END } from '@countersign/core/domain/canonical-text';
import { type ChainReport, NESTING_MAX } from '@countersign/core/domain/chain-report';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import type { EntryText } from '@countersign/core/domain/entry-text';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import {
  type ColumnsBeside,
  columnsText,
  EntryInOneText,
  readAuditPage,
  readAuditTexts,
  type StoredEntry,
} from '../storage/audit-pages.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type Checked, type WalkDemand, walkLog } from './walk-log.ts';

/**
 * Walks a tenant's audit ledger as the database holds it: hashes and links, the columns beside each document, head, tree and checkpoints.
 */
export async function verifyDatabase(pool: Pool, tenantId: string, demand: WalkDemand = {}): Promise<ChainReport> {
  const verifier = new ChainVerifier(digests, tenantId);
  const check = (row: EntryInOneText, seq: number): Checked | Promise<Checked> => {
    const { text, rowHash } = row;
    const prevHash = verifier.head.rowHash;
    const end = verifier.takesEntry(text, EntryInOneText.DOCUMENT_AT, rowHash);
    if (end !== NO_END && text.slice(end) === columnsText(columnsOf(verifier.entryText, seq, prevHash))) return { hash: rowHash };
    // Not parsed out of that text: what an odd column says shows in its own column.
    const stored = inTenantTransaction(pool, tenantId, (tx) => readAuditPage(tx, row.seq - 1, row.seq));
    return stored.then(([each]) => lookedAt(each, verifier, end !== NO_END));
  };
  return walkLog(pool, tenantId, { log: 'audit', chained: true, read: readAuditTexts, check }, demand);
}

/** The values that the columns of a document must have. */
const columnsOf = (entry: EntryText, seq: number, prevHash: string | null): ColumnsBeside => ({
  seq,
  prev_hash: prevHash,
  id: entry.value('id')!,
  recorded_at: entry.value('recorded_at')!,
  recorded_by: entry.value('recorded_by')!,
  actor: entry.value('actor')!,
  action: entry.value('action')!,
  trace_id: entry.value('trace_id'),
  agent_id: entry.value('agent_id'),
});

/** A row that the quick look did not find whole, column by column: what is wrong with it, or that nothing is. */
function lookedAt(row: StoredEntry | undefined, verifier: ChainVerifier, isTaken: boolean): Checked {
  if (row === undefined) return { fault: 'the row was taken out while it was looked at' };
  const { document, row_hash: hash } = row;
  const entry = parsedDocument(document);
  if (entry === undefined) return { fault: 'the stored document is not a JSON object' };
  if (isNestedDeeperThan(entry, NESTING_MAX)) return { fault: `the stored document is nested deeper than ${NESTING_MAX}` };
  // With the text: the hash is of the canonical form of what it says, and a row_hash or a member given twice comes to light so.
  const fault = isTaken ? undefined : verifier.next({ ...entry, row_hash: hash }, document)?.reason;
  const reason = fault ?? columnFault(entry, row, COLUMNS);
  return reason === undefined ? { hash } : { fault: reason };
}

/** The columns that are searched by; people are shown what they say, so they must say what was hashed. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'trace_id', 'agent_id', 'prev_hash'] as const;
