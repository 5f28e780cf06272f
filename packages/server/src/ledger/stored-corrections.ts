import { type ClockCorrection, correctionIn } from '@countersign/core/domain/clock-correction';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { listCorrectionDocuments } from '../storage/clock-corrections.ts';
import { parsedDocument } from './stored-document.ts';

/**
 * The clock corrections that a tenant's audit ledger permits for its other logs. The entries are not verified here; verifying the audit
 * ledger does that.
 */
export const readCorrections = async (tx: Transaction): Promise<ClockCorrection[]> =>
  (await listCorrectionDocuments(tx)).flatMap((document) => correctionIn(parsedDocument(document) ?? {}) ?? []);

/** Does the same as `readCorrections`, in its own transaction. */
export const correctionsOf = (pool: Pool, tenantId: string): Promise<ClockCorrection[]> =>
  inTenantTransaction(pool, tenantId, readCorrections);
