import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectClient } from '../../src/database/client.ts';
import { openPool } from '../../src/database/pool.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { isAnyRunHeld } from '../../src/storage/run-holds.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths, testServer } from '../harness/test-server.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

/** Changes settings of the database. Returns the settings of a connection from a new pool. */
async function readSettingsAfter(changes: Readonly<Record<string, string>>): Promise<Record<string, string>> {
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
  const settings = await readSettingsAfter({
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

test('a connection keeps a synchronous_commit that is stricter than `on`', async () => {
  expect(await readSettingsAfter({ synchronous_commit: 'remote_apply' })).toMatchObject({ synchronous_commit: 'remote_apply' });
});

test('a connection sets no time limit for transactions, even if the database has such a limit', async ({ skip }) => {
  const [setting] = await database.sql(`SELECT FROM pg_settings WHERE name = 'transaction_timeout'`);
  skip(setting === undefined, 'PostgreSQL 15 and 16 do not have this setting');
  await database.sql(`ALTER DATABASE ${database.server.database} SET transaction_timeout = '20s'`);
  const pool = openPool(database.server, { size: 1, name: 'settings' });
  const client = await connectClient(database.server, 'settings');
  try {
    const settings = [await pool.query('SHOW transaction_timeout'), await client.query('SHOW transaction_timeout')];
    expect(settings.flatMap(({ rows }) => rows)).toEqual([{ transaction_timeout: '0' }, { transaction_timeout: '0' }]);
  } finally {
    await Promise.all([pool.end(), client.end()]);
  }
});

/** Settings that make statements fail or return other values. */
const HOSTILE_SETTINGS = {
  row_security: 'off',
  search_path: 'public',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  datestyle: 'German, DMY',
  timezone: 'Asia/Kolkata',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-3',
  quote_all_identifiers: 'on',
};

const TIMEOUTS = { statement_timeout: '30s', lock_timeout: '30s', idle_in_transaction_session_timeout: '30s' };

test('a connection without a pool overrides the timeouts and the settings on which the meaning of statements depends', async () => {
  for (const [name, value] of Object.entries({ ...HOSTILE_SETTINGS, ...TIMEOUTS }))
    await database.sql(`ALTER DATABASE ${database.server.database} SET ${name} = '${value}'`);
  const client = await connectClient(database.server, 'settings');
  const { rows } = await client
    .query<{ name: string; setting: string }>('SELECT name, setting FROM pg_settings WHERE lower(name) = ANY ($1)', [
      Object.keys({ ...HOSTILE_SETTINGS, ...TIMEOUTS }),
    ])
    .finally(() => client.end());
  expect(Object.fromEntries(rows.map(({ name, setting }) => [name.toLowerCase(), setting]))).toEqual({
    row_security: 'on',
    search_path: 'pg_catalog, pg_temp',
    standard_conforming_strings: 'on',
    array_nulls: 'on',
    datestyle: 'ISO, MDY',
    timezone: 'UTC',
    intervalstyle: 'postgres',
    bytea_output: 'hex',
    extra_float_digits: '1',
    quote_all_identifiers: 'off',
    statement_timeout: '0',
    lock_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  });
});

test('a server works and finds held runs, even if settings and functions of the database change the meaning of statements', async () => {
  const hostile = await cloneDatabase();
  try {
    for (const [name, value] of Object.entries(HOSTILE_SETTINGS))
      await hostile.sql(`ALTER DATABASE ${hostile.server.database} SET ${name} = '${value}'`);
    for (const type of ['text', 'uuid', 'bigint'])
      await hostile.sql(`CREATE FUNCTION public.unnest(${type}[]) RETURNS SETOF ${type} LANGUAGE plpgsql
                         AS 'BEGIN RAISE ''called''; END'`);
    const server = await testServer({ database: hostile });
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const agent = { agent_name: 'bot' };
    const evaluation = { ...agent, name: 'e', suite: { name: 's' }, status: 'passing', pass_rate: 90.12345678901234 };
    const bodies = [
      [paths.traces, { ...agent, trace_id: 't', spans: [{ span_id: 's', kind: 'llm', name: 'plan' }] }],
      [paths.telemetry, { events: [{ ...agent, trace_id: 't', outcome: 'success' }] }],
      [paths.detailedEvaluations, evaluation],
      [paths.audit, { actor: 'me', action: 'note', trace_id: 't', retention_until: '9999-12-31' }],
    ] as const;
    for (const [path, body] of bodies) expect((await server.post(path, key, body)).status).toBe(200);
    const decision = await server.post(paths.promotionCheck, key, { ...agent, min_pass_rate: evaluation.pass_rate });
    expect(decision.body).toMatchObject({ allowed: true });
    expect(await inTenantTransaction(server.open.pool, tenantId, (tx) => isAnyRunHeld(tx, ['t'], '2026-01-01'))).toBe(true);
    await server.stop();
  } finally {
    await hostile.drop();
  }
});
