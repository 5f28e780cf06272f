import type { Pool } from 'pg';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';

const PAGE_ROWS = 1000;

/**
 * Reads a list of the portal to its end, in one transaction.
 * @param readPage reads at most `limit` rows after a place; null is the beginning.
 * @param placeOf the place of a row in the list.
 */
export const readAllPages = <Row, Place>(
  pool: Pool,
  tenantId: string,
  readPage: (tx: Transaction, after: Place | null, limit: number) => Promise<Row[]>,
  placeOf: (row: Row) => Place,
): Promise<Row[]> =>
  inReadTransaction(pool, tenantId, async (tx) => {
    const rows: Row[] = [];
    for (let after: Place | null = null; ; ) {
      const pageRows: Row[] = await readPage(tx, after, PAGE_ROWS);
      rows.push(...pageRows);
      if (pageRows.length < PAGE_ROWS) return rows;
      after = placeOf(pageRows.at(-1)!);
    }
  });
