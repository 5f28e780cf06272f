import { setTimeout as sleep } from 'node:timers/promises';
import { inject } from 'vitest';
import type { TestDatabase } from './test-database.ts';

const COUNT_WAITING = `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** On Citus, a statement waits on the node that stores its rows. */
const COUNT_WAITING_ON_NODES = `SELECT sum(result::integer)::integer AS n FROM run_command_on_all_nodes($$${COUNT_WAITING}$$)`;

/** Resolves when at least `count` statements wait for a lock of another transaction. */
export async function waitForBlockedStatements(database: TestDatabase, count = 1): Promise<void> {
  const waiting = inject('cluster').citus === undefined ? COUNT_WAITING : COUNT_WAITING_ON_NODES;
  while ((await database.sql<{ n: number }>(waiting))[0]!.n < count) await sleep(5);
}
