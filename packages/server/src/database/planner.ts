import type { PoolClient } from 'pg';

/*
 * All settings and SQL that influence PostgreSQL's planner. Reasons: docs/decisions/0056. Statements of the server are prepared once per
 * connection, and a table may have no statistics yet.
 */

/**
 * The setting of each connection: one plan per statement, for any values. Planning a promotion check takes three times as long as executing
 * it.
 */
export const GENERIC_PLANS = 'SET plan_cache_mode = force_generic_plan';

/** The setting of a transaction that reads lists: a plan for the given values, because a list has optional filters. */
export const PLANS_FOR_VALUES = 'SET LOCAL plan_cache_mode = force_custom_plan';

/**
 * Put at the end of a subquery: the planner does not merge the subquery into the statement around it. So
 * `CROSS JOIN LATERAL (SELECT ... OFFSET 0)` remains one index look-up for each outer row. For a plain join or `= ANY`, PostgreSQL scans
 * the whole of a table without statistics.
 */
export const FENCE = 'OFFSET 0';

/**
 * A condition that the planner cannot estimate, so that it chooses the index by the other conditions.
 * @param condition SQL that is true or false; unknown counts as true.
 */
export const notEstimated = (condition: string): string => `coalesce(${condition}, true)`;

/** Makes a connection plan its statements again. */
export const DISCARD_PLANS = 'DISCARD PLANS';

const AGE_MAX_MS = 2_000;
const AGE_MAX_AT_FIRST_MS = 50;

/** When a connection made its first plans and its current plans, by `performance.now()`. */
interface PlanState {
  firstAt: number;
  lastAt: number;
}

const planStates = new WeakMap<PoolClient, PlanState>();

/**
 * Whether a connection must plan again. Its plans may become half as old as the connection was when it made them: at least 50 ms, at most
 * two seconds. Called at the start of each transaction, which then sends `DISCARD_PLANS`.
 *
 * PostgreSQL keeps plans per connection. For a table that was empty when the plan was made, an index over all rows of the tenant looks as
 * cheap as the one for the requested row. Until autovacuum has analyzed the table (a minute), each look-up, including those of foreign
 * keys, reads more rows than the last: 3 times slower after 10 seconds of traces. With this rule a growing table is at most twice as large
 * as its plans assume. Planning again costs a connection less than a millisecond.
 */
export function plansAreOld(client: PoolClient): boolean {
  const now = performance.now();
  const { firstAt, lastAt } = planStates.get(client) ?? { firstAt: now, lastAt: now };
  const isOld = now - lastAt >= Math.min(AGE_MAX_MS, Math.max(AGE_MAX_AT_FIRST_MS, (lastAt - firstAt) / 2));
  if (isOld || firstAt === now) planStates.set(client, { firstAt, lastAt: isOld ? now : lastAt });
  return isOld;
}
