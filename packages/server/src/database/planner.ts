import type { PoolClient } from 'pg';

/*
 * Settings and SQL that influence PostgreSQL's planner, which plans the statements of a connection once, often before the tables have
 * statistics. Reasons: docs/decisions/0056. On Citus, citus-connections.ts replaces GENERIC_PLANS.
 */

/**
 * The setting of each pooled connection: one plan per statement, for any values. Planning a promotion check takes three times as long as
 * executing it.
 */
export const GENERIC_PLANS = 'SET plan_cache_mode = force_generic_plan';

/** The setting of a transaction that reads lists: a plan for the given values, because a list has optional filters. */
export const PLANS_FOR_VALUES = 'SET LOCAL plan_cache_mode = force_custom_plan';

/**
 * SQL for the end of a subquery. It prevents the planner from merging the subquery into the statement around it. So
 * `CROSS JOIN LATERAL (SELECT ... OFFSET 0)` remains one index lookup for each outer row. For a plain join or `= ANY` on a table without
 * statistics, PostgreSQL scans the whole table.
 */
export const FENCE = 'OFFSET 0';

/**
 * SQL for a condition that the planner cannot estimate, so that the planner chooses the index by the other conditions.
 * @param condition SQL that is true or false. NULL counts as true.
 */
export const notEstimated = (condition: string): string => `coalesce(${condition}, true)`;

/** Makes a connection plan its statements again. */
export const DISCARD_PLANS = 'DISCARD PLANS';

/** The largest and the smallest age at which plans are discarded. */
const DISCARD_AGE_MAX_MS = 2_000;
const DISCARD_AGE_MIN_MS = 50;

/** The start of a connection's first transaction, and of the transaction that last discarded its plans, by `performance.now()`. */
interface PlanState {
  firstAt: number;
  lastAt: number;
}

const planStates = new WeakMap<PoolClient, PlanState>();

/**
 * Whether a connection must plan again: its plans are older than half the time from its first plans to the current ones. This limit is at
 * least 50 ms and at most two seconds. Called at the start of each transaction, which sends `DISCARD_PLANS` if the result is true.
 *
 * PostgreSQL caches plans per connection. If a table was empty when the plan was made, an index over all rows of the tenant looks as cheap
 * as the index for the requested row. Until autovacuum has analyzed the table (up to a minute), each lookup reads more rows than the
 * previous one, including lookups for foreign keys. After 10 seconds of traces, lookups are 3 times slower. With this rule, plans are made
 * again before a growing table is much larger than they assume. Planning again costs a connection less than a millisecond.
 */
export function mustPlanAgain(client: PoolClient): boolean {
  const now = performance.now();
  const { firstAt, lastAt } = planStates.get(client) ?? { firstAt: now, lastAt: now };
  const isOld = now - lastAt >= Math.min(DISCARD_AGE_MAX_MS, Math.max(DISCARD_AGE_MIN_MS, (lastAt - firstAt) / 2));
  if (isOld || firstAt === now) planStates.set(client, { firstAt, lastAt: isOld ? now : lastAt });
  return isOld;
}
