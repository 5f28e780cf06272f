import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { acquireEmbeddedDatabase } from '../src/embedded-database.ts';
import { countProcesses, LIST_EVERY_MS, processesOf, until, untilNothingRuns } from './harness/processes.ts';
import { concurrent, expectStopped, query, silent, test } from './harness/test-folders.ts';

test('the first start creates the database and its roles, and later starts find the data', concurrent, async ({ folders }) => {
  const dataDir = folders.newDataDir();
  const notices: string[] = [];
  const first = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
  expect(first.dataDir).toBe(dataDir);
  expect(notices).toEqual([`creating the database in ${dataDir}/postgres`]);
  await query(first.owner, 'CREATE TABLE kept (value text)');
  await query(first.owner, "INSERT INTO kept VALUES ('Grüße')");
  const [facts] = await query(
    first.server,
    `SELECT current_user AS role, rolsuper, rolcreatedb, rolcreaterole, rolbypassrls, pg_get_userbyid(datdba) AS owner,
       pg_encoding_to_char(encoding) AS encoding, current_setting('data_checksums') AS checksums, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit, current_setting('listen_addresses') AS listen_addresses
     FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
  );
  expect(facts).toEqual({
    ...{ role: 'countersign_server', rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolbypassrls: false },
    ...{
      owner: 'countersign_owner',
      encoding: 'UTF8',
      checksums: 'on',
      fsync: 'on',
      synchronous_commit: 'on',
      listen_addresses: '',
    },
  });
  await expect(query(first.server, 'CREATE TABLE mine (value text)')).rejects.toThrow('permission denied');
  await first.release();
  await expectStopped(dataDir);

  const second = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
  expect(await query(second.owner, 'SELECT value FROM kept')).toEqual([{ value: 'Grüße' }]);
  expect(notices).toHaveLength(1);
  await second.release();
});

test('processes that start concurrently on an empty folder share one database', concurrent, async ({ folders }) => {
  const dataDir = folders.newDataDir();
  const all = Array.from({ length: 5 }, () => folders.hold(dataDir));
  await Promise.all(all.map((holder) => holder.waitFor('acquired')));
  const { keepers, postmasters } = processesOf(dataDir);
  expect([keepers.length, postmasters.length]).toEqual([1, 1]);
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8').match(/creating the database/g)).toHaveLength(1);
  expect(readdirSync(dataDir).sort()).toEqual(['keeper', 'postgres', 'postgres.log']);
  await Promise.all(all.map((holder) => holder.release()));
  await expectStopped(dataDir);
});

test('a keeper that starts slowly exits without starting PostgreSQL if the database was released meanwhile', {
  timeout: 60_000,
}, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  await (await acquireEmbeddedDatabase({ dataDir, notify: silent })).release();
  await expectStopped(dataDir);
  const node = process.execPath;
  const slowNode = join(dirname(dataDir), 'slow-node');
  writeFileSync(slowNode, `#!/bin/sh\nsleep 2\nexec '${node}' "$@"\n`, { mode: 0o755 });
  process.execPath = slowNode;
  const acquisition = acquireEmbeddedDatabase({ dataDir, notify: silent });
  await until('a keeper runs', () => processesOf(dataDir).keepers.length > 0, LIST_EVERY_MS);
  process.execPath = node;
  const holder = folders.hold(dataDir);
  await holder.waitFor('acquired');
  const database = await acquisition;
  expect(processesOf(dataDir).keepers).toHaveLength(2);
  await Promise.all([holder.release(), database.release()]);
  expect(processesOf(dataDir).postmasters).toEqual([]);
  await until('nothing runs', () => {
    expect(processesOf(dataDir).postmasters).toEqual([]);
    return countProcesses(dataDir) === 0;
  });
});

test('the database runs until its last holder releases it', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const first = folders.hold(dataDir);
  await first.waitFor('acquired');
  const second = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await first.release();
  expect(await query(second.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await second.release();
  await expectStopped(dataDir);
});

test('the database can be acquired while it shuts down', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  let current = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  for (let round = 0; round < 12; round += 1) {
    const released = current.release();
    await sleep(round);
    current = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    expect(await query(current.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await released;
  }
  await current.release();
  await expectStopped(dataDir);
});

test('the release ends open connections and running statements within five seconds', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  const busy = query(database.server, 'SELECT pg_sleep(60)').catch((error: Error) => error.message);
  await until('the statement runs', async () => {
    const running = await query(database.superuser, "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%'");
    return running.length > 1;
  });
  const startedAt = Date.now();
  await database.release();
  expect(Date.now() - startedAt).toBeLessThan(5_000);
  expect(await busy).toMatch(/terminat/);
  await expectStopped(dataDir);
});

test('Ctrl-C signals the process group of the holder but does not stop the database', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  const { superuser } = await holder.waitFor('acquired');
  process.kill(-holder.pid, 'SIGINT');
  await holder.waitFor('interrupted');
  await sleep(200);
  expect(await query(superuser!, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await holder.release();
  await expectStopped(dataDir);
});

test(
  "if PostgreSQL rejects a setting, the error contains PostgreSQL's message, and the next start succeeds",
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const acquisition = acquireEmbeddedDatabase({ dataDir, notify: silent, settings: { max_connections: 'many' } });
    await expect(acquisition).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('"max_connections": "many"'),
    });
    await untilNothingRuns(dataDir);
    const accepted = await acquireEmbeddedDatabase({ dataDir, notify: silent, settings: { max_connections: '17' } });
    expect(await query(accepted.server, 'SHOW max_connections')).toEqual([{ max_connections: '17' }]);
    await accepted.release();
  },
);
