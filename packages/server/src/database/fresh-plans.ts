import type { PoolClient } from 'pg';
import type { Statement } from './statement-group.ts';

const AGE_MAX_MS = 2_000;
const AGE_MAX_AT_FIRST_MS = 50;

const DISCARD: Statement<never> = { name: 'discard_plans', text: 'DISCARD PLANS' };

/** When a connection made its first plans, and the ones it has. */
interface Planned {
  firstAt: number;
  lastAt: number;
}

const planned = new WeakMap<PoolClient, Planned>();

/**
 * Lets a connection make its plans anew when they are two seconds old, or half as old as the connection if that is less; to be called
 * as each transaction begins.
 *
 * PostgreSQL keeps a plan with the connection that made it. On a table that was empty then, an index that leads to all rows of the
 * tenant looks as cheap as the one that leads to the row asked for, and until autovacuum has looked at the table (a minute) each
 * look-up, those of foreign keys too, walks more rows than the last: 3 times slower after 10 seconds of traces. A table that is being
 * filled is at most twice as large as its plans were made for. Planning anew costs a connection less than a millisecond
 * (docs/performance.md).
 */
export function keepPlansFresh(client: PoolClient, run: (statement: Statement<never>) => unknown): void {
  const now = performance.now();
  const { firstAt, lastAt } = planned.get(client) ?? { firstAt: now, lastAt: now };
  if (now - lastAt >= Math.min(AGE_MAX_MS, Math.max(AGE_MAX_AT_FIRST_MS, (lastAt - firstAt) / 2))) {
    planned.set(client, { firstAt, lastAt: now });
    run(DISCARD);
  } else if (firstAt === now) planned.set(client, { firstAt, lastAt });
}
