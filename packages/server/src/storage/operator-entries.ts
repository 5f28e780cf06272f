import { sql, type Transaction } from '../database/transaction.ts';

const LIST = sql<{ document: string }>(
  'list_operator_entries',
  `SELECT document FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action = $2 AND recorded_by = 'operator' ORDER BY seq`,
);

/** The canonical texts of the audit entries with this action that operators recorded, in order. */
export const listOperatorDocuments = async (tx: Transaction, action: string): Promise<string[]> =>
  (await tx.run(LIST, [tx.tenantId, action])).map(({ document }) => document);
