import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from './test-database.ts';

/** Resolves when some statement waits for what another transaction has locked; with a count, when that many wait. */
export async function waitingForALock(database: TestDatabase, count = 1): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await database.sql(waiting)).length < count) await sleep(5);
}
