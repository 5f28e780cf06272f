import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireEmbeddedDatabase, type ConnectionSettings } from '@countersign/embedded-database';
import pg from 'pg';
import { afterEach, expect, describe as group, onTestFinished } from 'vitest';
import { logFile } from '../../../embedded-database/src/data-folder.ts';
import { lastLines } from '../../../embedded-database/src/log-file.ts';
import { copyPreparedCluster } from '../../../embedded-database/test/harness/prepared-cluster.ts';
import {
  killAll,
  LIST_EVERY_MS,
  processesOf,
  until,
  untilNothingRuns,
} from '../../../embedded-database/test/harness/processes.ts';
import { expectStopped, query, test } from '../../../embedded-database/test/harness/test-folders.ts';
import { Callers } from '../fixtures/callers.ts';
import { expectStored } from '../fixtures/records.ts';
import { newKey, outputOf } from '../fixtures/run-command.ts';
import { CommandProcess, ServerProcess } from '../fixtures/server-process.ts';
import { SmallDisk } from '../fixtures/small-disk.ts';
import { sealedPool } from '../harness/sealed.ts';
import { paths } from '../harness/test-server.ts';

/** The promised limits in milliseconds: recovery after space is available, and exit after SIGTERM. */
const RECOVERY_MS = 10_000;
const STOP_MS = 5_000;
/**
 * The limit for the end of PostgreSQL after a SIGTERM to the server, if the keeper was killed before. On a full disk, a fast shutdown
 * may have no effect, and the watchdog sends its other signals after 6 and 7 seconds.
 */
const POSTGRESQL_STOP_MS = 9_000;

/**
 * Prevents every keeper from writing pg_hba.conf, so that no keeper can start PostgreSQL. Works for every user, and needs no separate
 * file system.
 */
class Obstacle {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'keeper', 'pg_hba.conf.new');
    mkdirSync(this.#path);
  }

  remove(): void {
    rmdirSync(this.#path);
  }
}

group('a PostgreSQL that cannot start for a while', () => {
  const responds = (database: ConnectionSettings) => () =>
    query(database, 'SELECT value FROM kept').then(
      () => true,
      () => false,
    );

  test.for(['PostgreSQL', 'PostgreSQL and its keeper'] as const)(
    'is reported to a new caller after SIGKILL ended %s, and recovers within 10 seconds after it can start again',
    { timeout: 120_000 },
    async (who, { folders }) => {
      const dataDir = folders.preparedDataDir();
      const messages: string[] = [];
      const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => messages.push(line) });
      await query(database.owner, 'CREATE TABLE kept AS SELECT 1 AS value');
      const obstacle = new Obstacle(dataDir);
      const { keepers, postmasters } = processesOf(dataDir);
      killAll(...postmasters, ...(who === 'PostgreSQL' ? [] : keepers));
      await until('the keeper is trying again', () => /trying again/.test(messages.join('\n')));
      await sleep(3_000);
      // Another caller gets the reason instead of waiting.
      await expect(acquireEmbeddedDatabase({ dataDir, notify: () => {} })).rejects.toMatchObject({
        message: expect.stringMatching(/EISDIR/),
      });
      obstacle.remove();
      const removedAt = Date.now();
      await until('PostgreSQL responds again', responds(database.owner));
      expect(Date.now() - removedAt).toBeLessThan(RECOVERY_MS);
      expect(messages.filter((line) => line.includes('trying again')).length).toBeLessThan(4);
      await database.release();
      await expectStopped(dataDir);
    },
  );

  test.for(['PostgreSQL', 'PostgreSQL and its keeper'] as const)(
    'leaves no process 5 seconds after the last client released it, even if SIGKILL had ended %s',
    { timeout: 120_000 },
    async (who, { folders }) => {
      const dataDir = folders.preparedDataDir();
      const messages: string[] = [];
      const database = await acquireEmbeddedDatabase({ dataDir, notify: (line) => messages.push(line) });
      const obstacle = new Obstacle(dataDir);
      const { keepers, postmasters } = processesOf(dataDir);
      killAll(...postmasters, ...(who === 'PostgreSQL' ? [] : keepers));
      await until('the keeper is trying again', () => /trying again/.test(messages.join('\n')));
      const startedAt = Date.now();
      await database.release();
      await untilNothingRuns(dataDir);
      expect(Date.now() - startedAt).toBeLessThan(STOP_MS);
      obstacle.remove();
    },
  );
});

group('the registration of a keeper, if a crash of the machine damaged it,', () => {
  const losses = {
    'an empty file': (file: string) => writeFileSync(file, ''),
    'a folder without its file': (file: string) => rmSync(file),
  };
  test.for(Object.keys(losses) as (keyof typeof losses)[])(
    'counts as the registration of a dead keeper: %s',
    { timeout: 60_000 },
    async (how, { folders }) => {
      const dataDir = folders.preparedDataDir();
      await (await acquireEmbeddedDatabase({ dataDir, notify: () => {} })).release();
      await expectStopped(dataDir);
      const newest = readdirSync(join(dataDir, 'keeper')).find((name) => /^lease-\d+$/.test(name))!;
      losses[how](join(dataDir, 'keeper', newest, 'keeper.json'));
      const database = await acquireEmbeddedDatabase({ dataDir, notify: () => {} });
      expect(await query(database.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await database.release();
    },
  );
});

/** Whether this process may mount a file system. If not, only the tests with the obstacle above cover the full disk. */
const canMount = (() => {
  const disk = SmallDisk.mount(1);
  disk?.unmount();
  return disk !== undefined;
})();

group.runIf(canMount)('the disk of the embedded database', () => {
  let disk: SmallDisk | undefined;
  let fillTimer: NodeJS.Timeout | undefined;
  afterEach(async () => {
    clearInterval(fillTimer);
    if (disk === undefined) return;
    const { keepers, postmasters } = processesOf(disk.dataDir);
    killAll(...keepers, ...postmasters);
    disk.unmount();
    disk = undefined;
  });

  /** A disk of 400 MiB with the prepared database. */
  function mountPreparedDisk(): SmallDisk {
    const mounted = SmallDisk.mount(400)!;
    copyPreparedCluster(mounted.dataDir);
    return mounted;
  }

  /**
   * Fills the disk every 10 ms until `fillTimer` is cleared, and waits until PostgreSQL refuses connections. PostgreSQL may then exit, or
   * recover in the space of its old files until the disk is full again.
   */
  async function fillUntilDown(disk: SmallDisk): Promise<void> {
    fillTimer = setInterval(() => disk.fill(), 10);
    await until('PostgreSQL refuses connections', async () => !(await writeUntilFailure(disk)));
  }

  /** Writes until a statement fails. Each statement starts a new write-ahead log file. Returns false if no connection was possible. */
  async function writeUntilFailure(disk: SmallDisk): Promise<boolean> {
    const superuser = await superuserOf(disk).catch(() => undefined);
    if (superuser === undefined) return false;
    const write = () => superuser.query(`SELECT pg_logical_emit_message(false, 'x', repeat('x', 9000000)), pg_switch_wal()`);
    const succeeds = () => write().then(Boolean, () => false);
    while (await succeeds());
    await superuser.end().catch(() => undefined);
    return true;
  }

  /** Starts a server that is killed at the end of the test, if it still runs. */
  async function startServer(environment: Record<string, string>): Promise<ServerProcess> {
    const server = await ServerProcess.start(environment);
    onTestFinished(() => void server.child.kill('SIGKILL'));
    return server;
  }

  /** Ends PostgreSQL on a full disk if it has not exited by itself. */
  async function endPostgresql(disk: SmallDisk): Promise<void> {
    const { postmasters } = processesOf(disk.dataDir);
    killAll(...postmasters);
    const pids = postmasters.map(({ pid }) => pid);
    await until(
      'PostgreSQL has ended',
      () => !processesOf(disk.dataDir).postmasters.some(({ pid }) => pids.includes(pid)),
      LIST_EVERY_MS,
    );
  }

  /** Facts that can explain why the server has not recovered. */
  async function describeOutage(disk: SmallDisk, server: ServerProcess): Promise<string> {
    const ready = await fetch(`${server.url}/readyz`).then((response) => response.text(), String);
    const { keepers, postmasters } = processesOf(disk.dataDir);
    return [
      `not recovered; ${disk.freeBytes} bytes are free; ${keepers.length} keepers, ${postmasters.length} postmasters; /readyz: ${ready}`,
      lastLines(logFile(disk.dataDir), 40),
      server.output.slice(-4_000),
    ].join('\n');
  }

  async function superuserOf({ dataDir }: SmallDisk): Promise<pg.Client> {
    const host = join(dataDir, 'keeper', 'socket');
    const client = new pg.Client({ host, port: 5432, user: 'countersign_superuser', database: 'countersign' });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  test.for(['is left alone', 'is killed'] as const)(
    'the server recovers within 10 seconds after a full disk is freed, loses no acknowledged record, and exits on SIGTERM (PostgreSQL %s)',
    {
      timeout: 180_000,
      // In a few hundred runs, one outage lasted more than 15 seconds; its cause is not known. The first attempt prints such an outage.
      retry: 1,
    },
    async (how) => {
      disk = mountPreparedDisk();
      const environment = { COUNTERSIGN_DATA_DIR: disk.dataDir };
      const server = await startServer(environment);
      const { tenantId, key } = await newKey(environment, 'acme');
      const callers = new Callers({ url: server.url, key }, 8);
      await until('the callers are sending', () => callers.acknowledged.length >= 64);
      await fillUntilDown(disk);
      if (how === 'is killed') await endPostgresql(disk);
      const unavailableBefore = callers.unavailableCount;
      await until('the callers get 503', () => callers.unavailableCount >= unavailableBefore + 32);
      await sleep(3_000);
      expect((await fetch(`${server.url}/livez`)).status).toBe(200);

      clearInterval(fillTimer);
      disk.free();
      const [freedAt, before] = [Date.now(), callers.acknowledged.length];
      await until('the server has recovered', () => callers.acknowledged.length >= before + 16).catch(async (error: unknown) => {
        const outage = await describeOutage(disk!, server);
        process.stderr.write(`${outage}\n`); // vitest does not print the error of an attempt that is retried
        throw new Error(outage, { cause: error });
      });
      expect(Date.now() - freedAt).toBeLessThan(RECOVERY_MS);
      await callers.stop();
      expect(callers.unexpectedResponses).toEqual([]);
      const socket = join(disk.dataDir, 'keeper', 'socket');
      const address = { host: socket, port: 5432, user: 'countersign_superuser', database: 'countersign' };
      const pool = sealedPool(address, disk.dataDir);
      await expectStored(pool, tenantId, callers.acknowledged);
      await pool.end();
      expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], environment)).toMatch(/^valid/);

      await fillUntilDown(disk);
      if (how === 'is killed') await endPostgresql(disk);
      // The keeper is killed. The next keeper must register on the full disk.
      killAll(...processesOf(disk.dataDir).keepers);
      await sleep(2_000);
      const signalledAt = Date.now();
      expect(await server.end('SIGTERM')).toBe(0);
      expect(Date.now() - signalledAt).toBeLessThan(STOP_MS);
      await untilNothingRuns(disk!.dataDir);
      expect(Date.now() - signalledAt).toBeLessThan(POSTGRESQL_STOP_MS);

      clearInterval(fillTimer);
      disk.free();
      const restarted = await startServer(environment);
      expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], environment)).toMatch(/^valid/);
      expect(await restarted.end('SIGTERM')).toBe(0);
      await untilNothingRuns(disk!.dataDir);
    },
  );

  test('when it is nearly full, the server rejects new records with the reason, still serves checks, revocation and reads, and recovers', {
    timeout: 120_000,
  }, async () => {
    disk = mountPreparedDisk();
    const environment = { COUNTERSIGN_DATA_DIR: disk.dataDir };
    const server = await startServer(environment);
    const { key } = await newKey(environment, 'acme');
    const governanceKey = await outputOf(
      ['keys', 'mint', '--workspace', 'acme', '--name', 'other', '--scopes', 'governance'],
      environment,
    );
    const [postmaster] = processesOf(disk.dataDir).postmasters;
    const post = async (path: string, bearer: string, body: object) => {
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: JSON.stringify(body),
      });
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
    };
    // Random, so that PostgreSQL cannot compress it.
    const entry = { actor: 'ci', action: 'test.disk', metadata: { text: randomBytes(150_000).toString('base64url') } };
    const get = async (path: string) => (await fetch(server.url + path)).text();
    expect((await post(paths.audit, key, entry)).status).toBe(200);

    // The floor is a fifth of the disk. The free space starts slightly above the floor, and the records fill the rest.
    disk.fill(84 * 1024 * 1024);
    const refusal = { status: 503, retryAfter: '10', body: { error: 'unavailable', issues: [{ code: 'disk_space' }] } };
    const rejectsRecords = async () => {
      const responses = await Promise.all(Array.from({ length: 8 }, () => post(paths.audit, key, entry)));
      expect(responses.every(({ status }) => status === 200 || status === 503)).toBe(true);
      return responses.some(({ status }) => status === 503);
    };
    await until('new records are rejected', rejectsRecords);
    expect(await post(paths.audit, key, entry)).toMatchObject(refusal);
    const trace = { trace_id: 't', agent_name: 'a', spans: [] };
    expect(await post(paths.traces, key, trace)).toMatchObject(refusal);
    expect(await post(paths.telemetry, key, { trace_id: 't', outcome: 'success', agent_name: 'a' })).toMatchObject(refusal);
    expect(await post(paths.evaluations, key, { name: 'e', agent_name: 'a', pass_rate: 90 })).toMatchObject(refusal);
    expect(await post(paths.promotionCheck, governanceKey, { agent_name: 'a' })).toMatchObject({
      status: 200,
      body: { allowed: false },
    });
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ready', warnings: [expect.stringMatching(/^new records are rejected: \d+ bytes are free/)] },
    ]);
    await until('the metrics report that new records are rejected', async () =>
      /countersign_disk_refusing 1\n/.test(await get('/metrics')),
    );
    expect(await get('/metrics')).toMatch(/countersign_disk_free_bytes \d+\n[\s\S]*countersign_disk_floor_bytes 83886080\n/);
    await outputOf(
      ['keys', 'revoke', '--workspace', 'acme', governanceKey.slice('aa_live_'.length, 'aa_live_'.length + 12)],
      environment,
    );
    expect((await post(paths.promotionCheck, governanceKey, { agent_name: 'a' })).status).toBe(401);
    expect(await outputOf(['ledger', 'verify', '--workspace', 'acme'], environment)).toMatch(/^valid/);

    disk.free();
    await until('records are accepted again', async () => (await post(paths.audit, key, entry)).status === 200);
    expect(processesOf(disk.dataDir).postmasters).toEqual([postmaster]);
    expect(server.stdout.match(/is nearly full: new records are rejected/g)).toHaveLength(1);
    expect(server.stdout.match(/has space again/g)).toHaveLength(1);
    expect(await server.end('SIGTERM')).toBe(0);
    await untilNothingRuns(disk!.dataDir);
  });

  test('when it is read-only, a command says what to do and does not suggest removing a file', { timeout: 60_000 }, async () => {
    disk = mountPreparedDisk();
    const environment = { COUNTERSIGN_DATA_DIR: disk.dataDir };
    await outputOf(['workspace', 'create', '--name', 'acme'], environment);
    await untilNothingRuns(disk!.dataDir);
    disk.makeReadOnly();
    const command = new CommandProcess(['workspace', 'list'], environment);
    expect([await command.ended, command.stderr]).toEqual([
      8,
      expect.stringMatching(/\(EROFS\): [^\n]*read-only: mount it writable/),
    ]);
    expect(command.stderr).not.toContain('remove it');
  });
});
