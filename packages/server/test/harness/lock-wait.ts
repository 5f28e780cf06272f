import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './test-database.ts';

/** Resolves when `count` statements wait for a lock of another transaction. */
export async function waitForBlockedStatements(database: TestDatabase, count = 1): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await database.sql(waiting)).length < count) await sleep(5);
}
