import { ignoreRejection, sql, type Transaction } from '../database/transaction.ts';

const TAKE = sql<{ number: number }>(
  'take_record_numbers',
  `SELECT nextval('countersign.record_order') AS number FROM generate_series(1, $1::integer)`,
);

/**
 * Takes the next numbers from the sequence that numbers evaluations, approvals and incidents, ascending. They are taken before the rows are
 * inserted, because Citus computes no sequence in an INSERT of several rows.
 */
export const takeRecordNumbers = (tx: Transaction, count: number): Promise<number[]> =>
  ignoreRejection(tx.run(TAKE, [count]).then((rows) => rows.map(({ number }) => number)));
