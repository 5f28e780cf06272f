import { type ClockCorrection, correctionIn } from '@countersign/core/domain/clock-correction';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { listCorrectionDocuments } from '../storage/clock-corrections.ts';
import { parsedDocument } from './stored-document.ts';

/**
 * What a tenant's audit ledger allows of the times of its other logs. The entries are read as they are stored: that they are whole is
 * what verifying the audit ledger shows.
 */
export const readCorrections = async (tx: Transaction): Promise<ClockCorrection[]> =>
  (await listCorrectionDocuments(tx)).flatMap((document) => correctionIn(parsedDocument(document) ?? {}) ?? []);

/** The same in a separate transaction. */
export const correctionsOf = (pool: Pool, tenantId: string): Promise<ClockCorrection[]> =>
  inTenantTransaction(pool, tenantId, readCorrections);
