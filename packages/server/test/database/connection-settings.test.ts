import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPool } from '../../src/database/pool.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

/** Changes settings of the database. Returns the settings of a connection of a new pool. */
async function settingsWhere(changes: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  for (const [name, value] of Object.entries(changes))
    await database.sql(`ALTER DATABASE ${database.server.database} SET ${name} = '${value}'`);
  const pool = openPool(database.server, { size: 1, name: 'settings' });
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rows } = await client.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'transaction_isolation', 'plan_cache_mode', 'jit',
         'lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')`,
    );
    await client.query('COMMIT');
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  } finally {
    client.release();
    await pool.end();
  }
}

test('a connection overrides the settings of the database for commits, isolation, plans and timeouts', async () => {
  const settings = await settingsWhere({
    synchronous_commit: 'off',
    default_transaction_isolation: 'serializable',
    plan_cache_mode: 'auto',
    jit: 'on',
    lock_timeout: '0',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  });
  expect(settings).toEqual({
    synchronous_commit: 'on',
    transaction_isolation: 'read committed',
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    lock_timeout: '12000',
    statement_timeout: '14000',
    idle_in_transaction_session_timeout: '10000',
  });
});

test('a connection keeps a synchronous_commit that is stricter than on', async () => {
  expect(await settingsWhere({ synchronous_commit: 'remote_apply' })).toMatchObject({ synchronous_commit: 'remote_apply' });
});
