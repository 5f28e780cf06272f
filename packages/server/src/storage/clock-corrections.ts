import { CLOCK_CORRECTED } from '@countersign/core/domain/clock-correction';
import { sql, type Transaction } from '../database/transaction.ts';

const LIST = sql<{ document: string }>(
  'list_clock_corrections',
  `SELECT document FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action = '${CLOCK_CORRECTED}' AND recorded_by = 'operator' ORDER BY seq`,
);

/** The canonical texts of the audit entries that record a clock correction by an operator, in order. */
export const listCorrectionDocuments = async (tx: Transaction): Promise<string[]> =>
  (await tx.run(LIST, [tx.tenantId])).map(({ document }) => document);
