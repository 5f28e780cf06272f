import type { PoolClient } from 'pg';

const transactionsOf = new WeakMap<PoolClient, number>();

/**
 * Lets a connection plan its statements anew after 2, 4, 8, ... transactions; to be called before each.
 *
 * PostgreSQL keeps a plan with the connection that made it. On a table that was empty then, an index that leads to all rows of the
 * tenant looks as cheap as the one that leads to the row asked for, and until autovacuum has looked at the table (a minute) each
 * look-up, those of foreign keys too, walks more rows than the last: 3 times slower after 10 seconds of traces (docs/performance.md).
 */
export function keepPlansFresh(client: PoolClient): void {
  const transactions = (transactionsOf.get(client) ?? 0) + 1;
  transactionsOf.set(client, transactions);
  // Not awaited, it travels ahead of BEGIN; if the connection is broken, BEGIN says so.
  if (Number.isInteger(Math.log2(transactions))) client.query('DISCARD PLANS').catch(() => undefined);
}
