import { type AcceptedRestore, RESTORE_ACCEPTED, restoreIn } from '@countersign/core/domain/accepted-restore';
import { CLOCK_CORRECTED, type ClockCorrection, correctionIn } from '@countersign/core/domain/clock-correction';
import type { Transaction } from '../database/transaction.ts';
import { listOperatorDocuments } from '../storage/operator-entries.ts';
import { parsedDocument } from './stored-document.ts';

// What operators recorded in a tenant's audit ledger. The entries are not verified here: `verifyAuditLedger` does that.

/** The clock corrections, in order. A correction permits the times in the logs to step back, also in the audit ledger. */
export const readCorrections = async (tx: Transaction): Promise<ClockCorrection[]> =>
  (await listOperatorDocuments(tx, CLOCK_CORRECTED)).flatMap((document) => correctionIn(parsedDocument(document) ?? {}) ?? []);

/** The accepted restores, in order. They can explain why a kept head does not match. */
export const readRestores = async (tx: Transaction): Promise<AcceptedRestore[]> =>
  (await listOperatorDocuments(tx, RESTORE_ACCEPTED)).flatMap((document) => restoreIn(parsedDocument(document) ?? {}) ?? []);
