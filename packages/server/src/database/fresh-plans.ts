import type { PoolClient } from 'pg';
import type { Statement } from './statement-group.ts';

const AGE_MAX_MS = 2_000;
const AGE_MAX_AT_FIRST_MS = 50;

const DISCARD: Statement<never> = { name: 'discard_plans', text: 'DISCARD PLANS' };

/** When a connection made its first plans, and its current ones. */
interface PlanState {
  firstAt: number;
  lastAt: number;
}

const planned = new WeakMap<PoolClient, PlanState>();

/**
 * Discards the plans of a connection when they are two seconds old, or half as old as the connection if that is less. Called at the start
 * of each transaction.
 *
 * PostgreSQL keeps plans per connection. For a table that was empty when the plan was made, an index over all rows of the tenant looks as
 * cheap as the one for the requested row. Until autovacuum has analysed the table (a minute), each look-up, including those of foreign
 * keys, reads more rows than the last: 3 times slower after 10 seconds of traces. With this rule a growing table is at most twice as large
 * as its plans assume. Planning again costs a connection less than a millisecond (docs/performance.md).
 */
export function keepPlansFresh(client: PoolClient, run: (statement: Statement<never>) => unknown): void {
  const now = performance.now();
  const { firstAt, lastAt } = planned.get(client) ?? { firstAt: now, lastAt: now };
  if (now - lastAt >= Math.min(AGE_MAX_MS, Math.max(AGE_MAX_AT_FIRST_MS, (lastAt - firstAt) / 2))) {
    planned.set(client, { firstAt, lastAt: now });
    run(DISCARD);
  } else if (firstAt === now) planned.set(client, { firstAt, lastAt });
}
