import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { currentAccount, unprivilegedAccount } from '../src/database-account.ts';
import { acquireEmbeddedDatabase } from '../src/embedded-database.ts';
import { killAll, LIST_EVERY_MS, processesOf, until, untilNothingRuns } from './harness/processes.ts';
import { concurrent, expectStopped, isRoot, query, silent, test } from './harness/test-folders.ts';

test('kill -9 of the only holder stops the database', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  await holder.waitFor('acquired');
  await holder.kill();
  expect(await holder.waitForExit()).toBe('SIGKILL');
  await untilNothingRuns(dataDir);
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('after kill -9 of PostgreSQL, the keeper restarts it with the committed data', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const notices: string[] = [];
  const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
  await query(database.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
  for (let round = 0; round < 2; round += 1) {
    killAll(...processesOf(dataDir).postmasters);
    await until('PostgreSQL responds again', () =>
      query(database.owner, 'SELECT value FROM kept').then(
        (rows) => rows.length === 1,
        () => false,
      ),
    );
  }
  expect(notices.join('\n')).toContain('PostgreSQL has ended (SIGKILL): starting it again');
  await database.release();
  await expectStopped(dataDir);
});

test(
  'a new holder waits for the restart after a crash, even if a prolonged outage ended ten seconds before the crash',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const notices: string[] = [];
    const first = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
    const responds = () =>
      query(first.owner, 'SELECT 1').then(
        () => true,
        () => false,
      );
    const crash = () => killAll(...processesOf(dataDir).postmasters);
    while (!notices.some((line) => line.includes('PostgreSQL does not stay up'))) {
      crash();
      await sleep(LIST_EVERY_MS);
    }
    await until('PostgreSQL responds again', responds);
    await sleep(10_500);
    const count = notices.length;
    crash();
    await until('the keeper has noticed the crash', () => notices.length > count, 1);
    const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    expect(await query(next.owner, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await Promise.all([first.release(), next.release()]);
  },
);

test('after kill -9 of the keeper, a new keeper starts PostgreSQL on the same socket', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const notices: string[] = [];
  const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
  await query(database.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const before = processesOf(dataDir);
  killAll(...before.keepers);
  await until('the database is back', () => notices.includes('the embedded PostgreSQL is back'));
  expect(await query(database.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await until('the watchdog of the killed keeper has ended', () => processesOf(dataDir).watchdogs.length === 1, LIST_EVERY_MS);
  const after = processesOf(dataDir);
  expect([after.keepers.length, after.postmasters.length]).toEqual([1, 1]);
  expect(after.keepers[0]?.pid).not.toBe(before.keepers[0]?.pid);
  // Now the keeper and PostgreSQL are killed at the same time.
  killAll(...after.keepers, ...after.postmasters);
  await until('the database is back again', () => notices.filter((line) => line.endsWith('is back')).length === 2);
  expect(await query(database.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await database.release();
  await expectStopped(dataDir);
});

test('kill -9 of holder and keeper stops PostgreSQL, and the next start succeeds', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  await holder.waitFor('acquired');
  killAll(holder, ...processesOf(dataDir).keepers);
  await untilNothingRuns(dataDir);
  expect(await holder.waitForExit()).toBe('SIGKILL');
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await next.release();
});

test('kill -9 of holder and keeper also ends a PostgreSQL that does not respond', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  await holder.waitFor('acquired');
  const { keepers, postmasters } = processesOf(dataDir);
  for (const { pid } of postmasters) process.kill(pid, 'SIGSTOP');
  killAll(holder, ...keepers);
  await untilNothingRuns(dataDir);
  expect(await holder.waitForExit()).toBe('SIGKILL');
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await next.release();
});

test('the next start stops an orphaned PostgreSQL, and committed data is kept', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  const { superuser } = await holder.waitFor('acquired');
  await query(superuser!, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const { keepers, postmasters, watchdogs } = processesOf(dataDir);
  killAll(holder, ...watchdogs, ...keepers);
  await until('the keeper is dead', () => processesOf(dataDir).keepers.length === 0, LIST_EVERY_MS);
  expect(await holder.waitForExit()).toBe('SIGKILL');
  expect(processesOf(dataDir).postmasters).toEqual(postmasters);
  const notices: string[] = [];
  const next = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
  expect(notices).toEqual(['PostgreSQL of an earlier run is still running: stopping it first']);
  expect(await query(next.superuser, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await next.release();
  await expectStopped(dataDir);
});

test('the next start recovers after kill -9 of all processes at once', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const holder = folders.hold(dataDir);
  const { superuser } = await holder.waitFor('acquired');
  await query(superuser!, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const { keepers, postmasters, watchdogs } = processesOf(dataDir);
  killAll(holder, ...watchdogs, ...keepers, ...postmasters);
  const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  expect(await holder.waitForExit()).toBe('SIGKILL');
  expect(await query(next.superuser, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  await next.release();
  await expectStopped(dataDir);
});

test(
  'the next start succeeds if the first start is ended by kill -9, at five different moments',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    for (const delayMs of [100, 250, 450, 650, 850]) {
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
      const holder = folders.hold(dataDir);
      await sleep(delayMs);
      const { keepers } = processesOf(dataDir);
      killAll(holder, ...keepers);
      const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
      expect(await holder.waitForExit()).toBe('SIGKILL');
      expect(await query(next.owner, 'SELECT count(*)::int AS n FROM pg_roles WHERE rolname LIKE $$countersign%$$')).toEqual([
        { n: 3 },
      ]);
      await next.release();
      await expectStopped(dataDir);
    }
  },
);

test(
  'PostgreSQL starts despite a lock file with the process ID of an unrelated process, and that process is not killed',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    await database.release();
    const account = isRoot ? unprivilegedAccount() : currentAccount();
    const unrelated = spawn('sleep', ['60'], {
      ...(isRoot ? { uid: account.uid, gid: account.gid } : {}),
      cwd: '/',
      stdio: 'ignore',
    });
    const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
    writeFileSync(lockFile, `${unrelated.pid}\n${dataDir}/postgres\n1\n5432\n${dataDir}/keeper/socket\n\n0 0\nready\n`);
    chownSync(lockFile, account.uid, account.gid);
    const next = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    await next.release();
    expect([unrelated.exitCode, unrelated.signalCode]).toEqual([null, null]);
    unrelated.kill('SIGKILL');
  },
);

/** Listens on PostgreSQL's socket and writes a lock file, as the PostgreSQL of another container with the same volume does. */
async function imitatePostgresOfAnotherContainer(dataDir: string): Promise<{ server: Server; lockFile: string }> {
  const first = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await first.release();
  await expectStopped(dataDir);
  const socketFolder = join(dataDir, 'keeper', 'socket');
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid');
  writeFileSync(lockFile, `999999999\n${dataDir}/postgres\n1\n5432\n${socketFolder}\n\n0 0\nready\n`);
  const server = createServer((socket) => socket.destroy()).listen(join(socketFolder, '.s.PGSQL.5432'));
  await once(server, 'listening');
  return { server, lockFile };
}

test(
  'a keeper does not start PostgreSQL while the PostgreSQL of another container uses the socket, and keeps the lock file',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const { server, lockFile } = await imitatePostgresOfAnotherContainer(dataDir);
    await expect(acquireEmbeddedDatabase({ dataDir, notify: silent })).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('stop the other container'),
    });
    expect(existsSync(lockFile)).toBe(true);
    server.close();
  },
);

test('a keeper starts PostgreSQL when the PostgreSQL of another container has ended', concurrent, async ({ folders }) => {
  const dataDir = folders.preparedDataDir();
  const { server } = await imitatePostgresOfAnotherContainer(dataDir);
  const starting = acquireEmbeddedDatabase({ dataDir, notify: silent });
  await sleep(1_500);
  expect(processesOf(dataDir).postmasters).toEqual([]);
  server.close();
  await (await starting).release();
});

test(
  'a keeper whose only holder is killed during the first start exits and leaves no socket',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    const holder = folders.hold(dataDir);
    await until('the keeper runs', () => processesOf(dataDir).keepers.length === 1, LIST_EVERY_MS);
    await holder.kill();
    expect(await holder.waitForExit()).toBe('SIGKILL');
    await untilNothingRuns(dataDir);
    expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.endsWith('.sock'))).toEqual([]);
  },
);
