import type { Pool } from 'pg';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';

const PAGE_ROWS = 1000;

/**
 * Reads a list of the portal to its end, in one transaction.
 * @param readPage reads at most `limit` rows after a position; null is the beginning.
 * @param positionOf returns the position of a row in the list.
 */
export const readAllPages = <Row, Position>(
  pool: Pool,
  tenantId: string,
  readPage: (tx: Transaction, after: Position | null, limit: number) => Promise<Row[]>,
  positionOf: (row: Row) => Position,
): Promise<Row[]> =>
  inReadTransaction(pool, tenantId, async (tx) => {
    const rows: Row[] = [];
    for (let after: Position | null = null; ; ) {
      const pageRows: Row[] = await readPage(tx, after, PAGE_ROWS);
      rows.push(...pageRows);
      if (pageRows.length < PAGE_ROWS) return rows;
      after = positionOf(pageRows.at(-1)!);
    }
  });
