import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { isDistributed } from '../../src/database/citus.ts';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { environmentOf, ownerEnvironmentOf, runCommand } from '../fixtures/run-command.ts';
import { emptyDatabase } from '../harness/test-database.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

test('running migrate --citus again changes nothing', async () => {
  const server = await testServer();
  const tenant = await server.workspace();
  await server.post(paths.traces, await server.key(tenant), { trace_id: 'kept', agent_name: 'kept' });
  for (let turn = 0; turn < 2; turn += 1) {
    const { status, err } = await runCommand(ownerEnvironmentOf(server), 'migrate', '--citus');
    expect([status, err]).toEqual([0, 'the schema was up to date\n']);
  }
  expect(await server.database.sql('SELECT trace_id FROM countersign.traces')).toEqual([{ trace_id: 'kept' }]);
});

test('a distributed database has the expected schema and valid logs', async () => {
  const server = await testServer();
  const tenant = await server.workspace();
  const key = await server.key(tenant);
  await server.post(paths.audit, key, { actor: 'ci', action: 'x' });
  await server.post(paths.evaluations, key, { agent_name: 'a', name: 'nightly', pass_rate: 95 });
  await Promise.all([server.compareSchema(), server.compareTables(), server.verifyLogs()]);
  const { status, body } = await fetch(`${server.url}/readyz`).then(async (response) => ({
    status: response.status,
    body: await response.text(),
  }));
  expect([status, body]).toEqual([200, expect.not.stringMatching(/changed|differ/)]);
  expect(await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', tenant)).toMatchObject({ status: 0 });
});

test('migrate --citus distributes existing rows; a new server then stores traces and verifies the logs', async () => {
  const database = await emptyDatabase();
  try {
    await migrate(database.owner, { serverRole: database.server.user });
    const serverBefore = await testServer({ database });
    const tenants = await Promise.all([serverBefore.workspace(), serverBefore.workspace(), serverBefore.workspace()]);
    const keys = await Promise.all(tenants.map((tenant) => serverBefore.key(tenant)));
    const write = (server: TestServer, name: string) =>
      Promise.all(keys.map((key) => server.post(paths.traces, key, { trace_id: name, agent_name: 'kept' })));
    expect((await write(serverBefore, 'before')).map(({ status }) => status)).toEqual([200, 200, 200]);
    await serverBefore.stop();
    await migrate(database.owner, { serverRole: database.server.user, citus: true });
    const serverAfter = await testServer({ database });
    expect((await write(serverAfter, 'after')).map(({ status }) => status)).toEqual([200, 200, 200]);
    await Promise.all([serverAfter.compareSchema(), serverAfter.compareTables(), serverAfter.verifyLogs()]);
    for (const tenant of tenants) {
      expect(await database.sql('SELECT trace_id FROM countersign.traces WHERE tenant_id = $1 ORDER BY 1', [tenant])).toEqual([
        { trace_id: 'after' },
        { trace_id: 'before' },
      ]);
      for (const log of ['audit', 'evidence', 'keys', 'traces'])
        expect(
          await runCommand(environmentOf(serverAfter), 'ledger', 'verify', '--workspace', tenant, '--log', log),
        ).toMatchObject({
          status: 0,
        });
    }
    await serverAfter.stop();
  } finally {
    await database.drop();
  }
});

test('later migrations change tables that are distributed already, and the schema is complete afterwards', async () => {
  const database = await emptyDatabase();
  const [first, later] = [knownMigrations().slice(0, 4), knownMigrations().slice(4)];
  try {
    await migrate(database.owner, { serverRole: database.server.user, citus: true, migrationsMax: first.length });
    const { migrations } = await migrate(database.owner, { serverRole: database.server.user });
    expect(migrations).toEqual(later);
    const server = await testServer({ database });
    const key = await server.key(await server.workspace());
    expect((await server.post(paths.traces, key, { trace_id: 'run', agent_name: 'new' })).status).toBe(200);
    await server.compareSchema();
    expect(await (await fetch(`${server.url}/readyz`)).text()).not.toMatch(/changed|differ|missing/);
    await server.stop();
  } finally {
    await database.drop();
  }
});

test('migrate --citus refuses a database without the extension', async () => {
  const { owner, superuser } = inject('cluster');
  const client = new pg.Client({ ...superuser, database: 'postgres' });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE plain_database OWNER ${owner.user}`);
    await expect(migrate({ ...owner, database: 'plain_database' }, { citus: true })).rejects.toThrow(/no extension citus/);
    expect(await isDistributed(client)).toBe(false);
  } finally {
    await client.query('DROP DATABASE IF EXISTS plain_database WITH (FORCE)');
    await client.end();
  }
});

test('backup refuses distributed tables, because their nodes have no common snapshot', async () => {
  const server = await testServer();
  const { status, err } = await runCommand(
    ownerEnvironmentOf(server),
    'backup',
    '--output',
    join(tmpdir(), 'countersign-refused.tar'),
  );
  expect([status, err]).toEqual([9, expect.stringContaining('no common snapshot')]);
});
