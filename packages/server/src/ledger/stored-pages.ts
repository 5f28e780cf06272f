import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { findNextSeq, type LedgerExtent, PAGE_ROWS, readAuditPage, type StoredEntry } from '../storage/ledger.ts';

/**
 * All rows that a ledger had when its extent was read, page by page in the order of seq. Rows are only ever appended, so that a
 * transaction a page gives the same rows as one long snapshot, and a slow reader holds nothing open in the database.
 */
export async function* storedPages(
  pool: Pool,
  tenantId: string,
  { firstSeq, lastSeq }: LedgerExtent,
): AsyncGenerator<StoredEntry[]> {
  for (let after = firstSeq - 1; after < lastSeq; ) {
    const page = await inTenantTransaction(pool, tenantId, (tx) => readAuditPage(tx, after, lastSeq));
    if (page.length > 0) yield page;
    // A gap of a whole page is there only when somebody has made it: leap to the row behind it.
    const next = page.at(-1)?.seq ?? (await inTenantTransaction(pool, tenantId, (tx) => findNextSeq(tx, after + PAGE_ROWS))) - 1;
    if (next <= after) return;
    after = next;
  }
}
