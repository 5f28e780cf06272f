import { type ClockCorrection, correctionIn } from '@countersign/core/domain/clock-correction';
import type { Transaction } from '../database/transaction.ts';
import { listCorrectionDocuments } from '../storage/clock-corrections.ts';
import { parsedDocument } from './stored-document.ts';

/**
 * Reads the clock corrections that a tenant's audit ledger records. A correction permits the times in the other logs to go back. The
 * entries are not verified here: `verifyAuditLedger` does that.
 */
export const readCorrections = async (tx: Transaction): Promise<ClockCorrection[]> =>
  (await listCorrectionDocuments(tx)).flatMap((document) => correctionIn(parsedDocument(document) ?? {}) ?? []);
