import { textArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A stored entry of the audit ledger. */
export interface ActEntryRow {
  seq: number;
  document: string;
}

// Senders with an ingestion key can write entries with the same action.
const FIND = sql<ActEntryRow>(
  'find_act_entry',
  `SELECT seq, document FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action = $2 AND seq <= $3 AND recorded_by NOT LIKE 'key:%'
      AND EXISTS (SELECT FROM unnest($4::text[]) AS part WHERE strpos(document, part) > 0)
    ORDER BY seq DESC LIMIT 1`,
);

/**
 * The newest of the first `size` entries that has this action, contains one of the texts in `parts`, and was not recorded by an ingestion
 * key; undefined if there is none. The columns are not sealed, so the caller verifies the document.
 */
export const findActEntry = async (
  tx: Transaction,
  size: number,
  action: string,
  parts: readonly string[],
): Promise<ActEntryRow | undefined> => (await tx.run(FIND, [tx.tenantId, action, size, textArray(parts)]))[0];
