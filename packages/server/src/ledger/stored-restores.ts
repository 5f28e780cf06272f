import { type AcceptedRestore, restoreIn } from '@countersign/core/domain/accepted-restore';
import type { Transaction } from '../database/transaction.ts';
import { listRestoreDocuments } from '../storage/accepted-restores.ts';
import { parsedDocument } from './stored-document.ts';

/**
 * Reads the accepted restores that a tenant's audit ledger records. They can explain why a kept head does not match. The entries are not
 * verified here: `verifyAuditLedger` does that.
 */
export const readRestores = async (tx: Transaction): Promise<AcceptedRestore[]> =>
  (await listRestoreDocuments(tx)).flatMap((document) => restoreIn(parsedDocument(document) ?? {}) ?? []);
