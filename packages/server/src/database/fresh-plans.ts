import type { PoolClient } from 'pg';

const AGE_MAX_MS = 2_000;

const plannedAt = new WeakMap<PoolClient, number>();

/**
 * Lets a connection make its plans anew when they are older than two seconds; to be called before each transaction.
 *
 * PostgreSQL keeps a plan with the connection that made it. On a table that was empty then, an index that leads to all rows of the
 * tenant looks as cheap as the one that leads to the row asked for, and until autovacuum has looked at the table (a minute) each
 * look-up, those of foreign keys too, walks more rows than the last: 3 times slower after 10 seconds of traces. Planning anew
 * costs a connection less than a millisecond (docs/performance.md).
 */
export function keepPlansFresh(client: PoolClient): void {
  const now = performance.now();
  if (now - (plannedAt.get(client) ?? now - AGE_MAX_MS) < AGE_MAX_MS) return;
  plannedAt.set(client, now);
  // Not awaited, it travels ahead of BEGIN; if the connection is broken, BEGIN says so.
  client.query('DISCARD PLANS').catch(() => undefined);
}
