import { RESTORE_ACCEPTED } from '@countersign/core/domain/accepted-restore';
import { sql, type Transaction } from '../database/transaction.ts';

const LIST = sql<{ document: string }>(
  'list_accepted_restores',
  `SELECT document FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action = '${RESTORE_ACCEPTED}' AND recorded_by = 'operator' ORDER BY seq`,
);

/** The canonical texts of the audit entries by which an operator accepted a restore, in order. */
export const listRestoreDocuments = async (tx: Transaction): Promise<string[]> =>
  (await tx.run(LIST, [tx.tenantId])).map(({ document }) => document);
