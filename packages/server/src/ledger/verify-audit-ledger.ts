import { NO_END } from '@countersign/core/domain/canonical-text';
import { NESTING_MAX } from '@countersign/core/domain/chain-report';
import { ChainVerifier } from '@countersign/core/domain/chain-verifier';
import type { EntryText } from '@countersign/core/domain/entry-text';
import { isNestedDeeperThan } from '@countersign/core/domain/nesting';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import {
  columnsText,
  type EntryColumns,
  EntryInOneText,
  readAuditPage,
  readAuditTexts,
  type StoredEntry,
} from '../storage/audit-pages.ts';
import { DECISION_KEYS_TABLE, findDecisionKeyFault } from './decision-key-rows.ts';
import { differenceReason, type LogReport, tableSource } from './row-findings.ts';
import { columnFault, parsedDocument } from './stored-document.ts';
import { type RowCheck, type WalkOptions, walkLog } from './walk-log.ts';

/**
 * Verifies a tenant's stored audit ledger: hashes and links, the columns of each entry, head, tree and checkpoints. If the ledger is valid,
 * compares the rows of the decision keys with it.
 */
export async function verifyAuditLedger(pool: Pool, tenantId: string, options: WalkOptions = {}): Promise<LogReport> {
  const verifier = new ChainVerifier(digests, tenantId);
  const check = (row: EntryInOneText, seq: number): RowCheck | Promise<RowCheck> => {
    const { text, rowHash } = row;
    const prevHash = verifier.head.rowHash;
    const end = verifier.tryEntry(text, EntryInOneText.DOCUMENT_AT, rowHash);
    if (end !== NO_END && text.slice(end) === columnsText(columnsOf(verifier.entryText, seq, prevHash))) return { hash: rowHash };
    // The row is read again column by column, because an altered column could change where the parts of the joined text end.
    const stored = inTenantTransaction(pool, tenantId, (tx) => readAuditPage(tx, row.seq - 1, row.seq));
    return stored.then(([each]) => checkColumns(each, verifier, end !== NO_END));
  };
  const report = await walkLog(pool, tenantId, { log: 'audit', isChained: true, read: readAuditTexts, check }, options);
  if (report.firstBad !== undefined || report.contradiction !== undefined) return report;
  const finding = await findDecisionKeyFault(pool, tenantId);
  if (finding === undefined) return report;
  const contradiction = { source: tableSource(DECISION_KEYS_TABLE), size: report.entries, reason: differenceReason(finding, 1) };
  return { ...report, findings: [finding], contradiction };
}

/** The values that the columns of an entry's row must have. */
const columnsOf = (entry: EntryText, seq: number, prevHash: string | null): EntryColumns => ({
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

/**
 * Checks a row that the fast path did not accept, column by column.
 * @param isVerified whether the fast path has verified the hash and link of the entry.
 */
function checkColumns(row: StoredEntry | undefined, verifier: ChainVerifier, isVerified: boolean): RowCheck {
  if (row === undefined) return { fault: 'the row was deleted during the verification' };
  const { document, row_hash: hash } = row;
  const entry = parsedDocument(document);
  if (entry === undefined) return { fault: 'the stored document is not a JSON object' };
  if (isNestedDeeperThan(entry, NESTING_MAX)) return { fault: `the stored document is nested deeper than ${NESTING_MAX}` };
  // The text is passed too: the hash covers only the canonical form, so a duplicate member shows only in the text.
  const fault = isVerified ? undefined : verifier.next({ ...entry, row_hash: hash }, document)?.reason;
  const reason = fault ?? columnFault(entry, row, COLUMNS);
  return reason === undefined ? { hash } : { fault: reason };
}

/** The columns that repeat members of the hashed document. The portal shows them, so they must match the document. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'actor', 'action', 'trace_id', 'agent_id', 'prev_hash'] as const;
