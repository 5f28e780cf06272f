import type { Pool } from 'pg';
import { ignoreRejection, inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { findNextSeq, type LogExtent } from '../storage/ledger.ts';
import type { LogName } from '../storage/log-heads.ts';

/**
 * How to read rows. `read` returns a page of rows after `after`, up to and including `last`, in order. The page may be empty before a gap.
 */
export interface PageQuery<Row> extends Pick<LogExtent, 'firstSeq' | 'lastSeq'> {
  log: LogName;
  read: (tx: Transaction, after: number, last: number) => Promise<Row[]>;
}

/**
 * The rows `firstSeq` to `lastSeq` of a log, page by page in the order of seq. Rows are only appended. So one transaction for each page
 * gives the same rows as one long snapshot, and a slow reader keeps no transaction open. The next page is requested before this one is
 * returned, so the database reads while the rows are checked.
 */
export async function* readStoredPages<Row extends { seq: number }>(
  pool: Pool,
  tenantId: string,
  { log, read, firstSeq, lastSeq }: PageQuery<Row>,
): AsyncGenerator<Row[]> {
  const readAfter = (after: number) => ignoreRejection(inTenantTransaction(pool, tenantId, (tx) => read(tx, after, lastSeq)));
  for (let after = firstSeq - 1, pending = readAfter(after); after < lastSeq; ) {
    const page = await pending;
    // A gap of a whole page exists only if rows were deleted outside the server. Continue at the row after it.
    const next = page.at(-1)?.seq ?? (await inTenantTransaction(pool, tenantId, (tx) => findNextSeq(tx, log, after))) - 1;
    const isLast = next <= after || next >= lastSeq;
    if (!isLast) pending = readAfter(next);
    if (page.length > 0) yield page;
    if (isLast) return;
    after = next;
  }
}
