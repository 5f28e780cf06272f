import { spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { currentAccount, unprivilegedAccount } from '../src/database-account.ts';
import { acquireEmbeddedDatabase } from '../src/embedded-database.ts';
import { killAll, processesOf, until, untilNothingRuns } from './harness/processes.ts';
import { alongside, expectStopped, isRoot, query, silent, test } from './harness/world.ts';

test('kill -9 of the only holder stops the database', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await holder.heard('acquired');
  await holder.kill();
  await untilNothingRuns(dataDir);
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('after kill -9 of PostgreSQL it is started again, and what was committed is there', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const said: string[] = [];
  const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => said.push(line) });
  await query(database.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
  for (let round = 0; round < 2; round += 1) {
    killAll(...processesOf(dataDir).postmasters);
    await until('it answers again', () =>
      query(database.owner, 'SELECT value FROM kept').then(
        (rows) => rows.length === 1,
        () => false,
      ),
    );
  }
  expect(said.join('\n')).toContain('PostgreSQL has ended (SIGKILL): starting it again');
  await database.release();
  await expectStopped(dataDir);
});

test('after kill -9 of the keeper the holder gets the database back on the same socket', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const said: string[] = [];
  const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => said.push(line) });
  await query(database.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const before = processesOf(dataDir);
  killAll(...before.keepers);
  await until('it is back', () => said.includes('the embedded PostgreSQL is back'));
  expect(await query(database.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await until('the watchdog of the killed keeper has ended', () => processesOf(dataDir).watchdogs.length === 1);
  const after = processesOf(dataDir);
  expect([after.keepers.length, after.postmasters.length]).toEqual([1, 1]);
  expect(after.keepers[0]?.pid).not.toBe(before.keepers[0]?.pid);
  // And also when PostgreSQL goes in the same moment.
  killAll(...after.keepers, ...after.postmasters);
  await until('it is back again', () => said.filter((line) => line.endsWith('is back')).length === 2);
  expect(await query(database.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await database.release();
  await expectStopped(dataDir);
});

test('kill -9 of every Node process, holder and keeper, leaves nothing behind', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await holder.heard('acquired');
  killAll(holder, ...processesOf(dataDir).keepers);
  await untilNothingRuns(dataDir);
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await next.release();
});

test('kill -9 of every Node process ends a PostgreSQL that no longer reacts', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await holder.heard('acquired');
  const { keepers, postmasters } = processesOf(dataDir);
  for (const { pid } of postmasters) process.kill(pid, 'SIGSTOP');
  killAll(holder, ...keepers);
  await untilNothingRuns(dataDir);
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await next.release();
});

test(
  'a PostgreSQL that was left running is stopped by the next start, and what was committed is there',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const holder = world.hold(dataDir);
    const { superuser } = await holder.heard('acquired');
    await query(superuser!, "CREATE TABLE kept AS SELECT 'committed' AS value");
    const { keepers, postmasters, watchdogs } = processesOf(dataDir);
    killAll(holder, ...watchdogs, ...keepers);
    await until('the keeper is dead', () => processesOf(dataDir).keepers.length === 0);
    expect(processesOf(dataDir).postmasters).toEqual(postmasters);
    const said: string[] = [];
    const next = await acquireEmbeddedDatabase({ dataDir, notify: (line) => said.push(line) });
    expect(said).toEqual(['PostgreSQL of an earlier run is still running: stopping it first']);
    expect(await query(next.superuser, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
    await next.release();
    await expectStopped(dataDir);
  },
);

test('after kill -9 of everything at once the next start recovers', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  const { superuser } = await holder.heard('acquired');
  await query(superuser!, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const { keepers, postmasters, watchdogs } = processesOf(dataDir);
  killAll(holder, ...watchdogs, ...keepers, ...postmasters);
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  expect(await query(next.superuser, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await next.release();
  await expectStopped(dataDir);
});

test(
  'kill -9 at any moment of the first start leaves nothing that the next start would trip over',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    for (const delayMs of [100, 250, 450, 650, 850]) {
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
      const holder = world.hold(dataDir);
      await sleep(delayMs);
      const { keepers } = processesOf(dataDir);
      killAll(holder, ...keepers);
      const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
      expect(await query(next.owner, 'SELECT count(*)::int AS n FROM pg_roles WHERE rolname LIKE $$countersign%$$')).toEqual([
        { n: 3 },
      ]);
      await next.release();
      await expectStopped(dataDir);
    }
  },
);

test('a lock file that names a living stranger is no obstacle, and the stranger lives on', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await database.release();
  const account = isRoot ? unprivilegedAccount() : currentAccount();
  const stranger = spawn('sleep', ['60'], {
    ...(isRoot ? { uid: account.uid, gid: account.gid } : {}),
    cwd: '/',
    stdio: 'ignore',
  });
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  writeFileSync(lockFile, `${stranger.pid}\n${dataDir}/postgres\n1\n5432\n${dataDir}/keeper/socket\n\n0 0\nready\n`);
  chownSync(lockFile, account.uid, account.gid);
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await next.release();
  expect(stranger.exitCode).toBe(null);
  stranger.kill('SIGKILL');
});

test('a keeper that nobody holds ends by itself', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await until('the keeper is there', () => processesOf(dataDir).keepers.length === 1);
  holder.child.kill('SIGKILL');
  await untilNothingRuns(dataDir);
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.endsWith('.sock'))).toEqual([]);
});
