import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import zlib from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createBackup } from '../../src/backup/backup-writer.ts';
import { decryptSecrets } from '../../src/backup/encrypted-secrets.ts';
import type { BackupManifest } from '../../src/backup/manifest.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { listCopiedTables } from '../../src/database/copied-tables.ts';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { openPool } from '../../src/database/pool.ts';
import { signingKeyId } from '../../src/secrets/instance-signer.ts';
import { markSigningKeyRetired } from '../../src/storage/signing-keys.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { type CommandResult, environmentOf, runCommand, runForJson } from '../fixtures/run-command.ts';
import { withSecret } from '../harness/sealed.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const scratch = mkdtempSync(join(tmpdir(), 'countersign-test-'));
const folder = join(scratch, 'backup');
const [rightPassphrase, wrongPassphrase] = ['correct horse battery', 'wrong horse battery'].map((text) => ({
  COUNTERSIGN_BACKUP_PASSPHRASE: text,
}));
let server: TestServer;
let target: TestDatabase;
let tenantId: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  const key = await server.key(tenantId);
  for (const actor of ['one', 'two', 'three'])
    expect((await server.post(paths.audit, key, { actor, action: 'test.ran' })).status).toBe(200);
  expect(await backup(`${folder}/`, '--with-secrets')).toMatchObject({ status: 0 });
});

afterAll(async () => {
  await target?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

beforeEach(async () => {
  await target?.drop();
  target = await emptyDatabase();
});

const backup = (output: string, ...options: string[]): Promise<CommandResult> =>
  runCommand({ ...environmentOf(server), ...rightPassphrase }, 'backup', '--output', output, ...options);

/** The environment of commands on the target. The role of the second URL owns the tables: it migrates and restores. */
const environment = () => ({
  ...environmentOf(server),
  DATABASE_URL: socketUrl(target.server),
  COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(target.owner),
});

/** @param changes variables to set in addition to `environment()`, or to replace; undefined removes a variable. */
const restore = (
  input: string,
  changes: Record<string, string | undefined> = {},
  ...options: string[]
): Promise<CommandResult> => {
  const variables = Object.entries({ ...environment(), ...changes }).filter(([, value]) => value !== undefined);
  return runCommand(Object.fromEntries(variables) as Record<string, string>, 'restore', '--input', input, ...options);
};

/** A copy of the backup that a test can damage. */
function copyBackup(name: string): { path: string; manifest: BackupManifest } {
  const path = join(scratch, name);
  cpSync(folder, path, { recursive: true });
  return { path, manifest: readManifest(path) };
}

const readManifest = (path: string): BackupManifest => JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'));

const writeManifest = (path: string, manifest: object) => writeFileSync(join(path, 'manifest.json'), JSON.stringify(manifest));

const countTables = async () =>
  (await target.sql<{ n: number }>(`SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'countersign'`))[0]!.n;

test('restore writes the same ledger rows and schema, and reports success as JSON', async () => {
  const report = await runForJson(environment(), 'restore', '--input', folder);
  expect(report).toMatchObject({ result: 'ok', older_than_remembered: [], verified: { logs: 5, faults: [] } });
  const hashes = `SELECT seq, encode(row_hash, 'hex') AS hash FROM countersign.audit_entries ORDER BY seq`;
  expect(await target.sql(hashes)).toEqual(await server.database.sql(hashes));
  const verified = await runForJson(environment(), 'ledger', 'verify', '--workspace', 'acme', '--log', 'all');
  expect(verified).toMatchObject({ result: 'ok' });
  expect(verified).not.toHaveProperty('schema_findings');
});

test('restore refuses to load into a database that is not empty, and changes nothing in it', async () => {
  expect(await restore(folder)).toMatchObject({ status: 0 });
  await target.sql(`UPDATE countersign.tenants SET name = 'kept'`);
  expect(await restore(folder)).toMatchObject({ status: 9, err: expect.stringMatching(/not empty .*Nothing was changed/) });
  expect(await target.sql('SELECT name FROM countersign.tenants')).toEqual([{ name: 'kept' }]);
});

test('restore names a damaged or missing part before it writes anything', async () => {
  const { path, manifest } = copyBackup('damaged');
  const { file } = manifest.tables.find(({ name }) => name === 'audit_entries')!.parts[0]!;
  const bytes = readFileSync(join(path, file));
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(join(path, file), bytes);
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining(`SHA-256 of ${file}`) });
  rmSync(join(path, file));
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining(`${file} cannot be read`) });
  expect(await countTables()).toBe(0);
});

test('restore rejects a truncated file, a file that is not a backup, and a missing or unreadable file', async () => {
  const file = join(scratch, 'whole.backup');
  expect(await backup(file)).toMatchObject({ status: 0 });
  truncateSync(file, 4096);
  expect(await restore(file)).toMatchObject({ status: 1, err: expect.stringContaining('may be cut off') });
  writeFileSync(file, 'no archive');
  expect(await restore(file)).toMatchObject({ status: 1, err: expect.stringContaining('no manifest.json') });
  expect(await restore(join(scratch, 'missing'))).toMatchObject({ status: 2 });
  // No user can open a socket as a file, not even root.
  const socket = createServer().listen(join(scratch, 'socket'));
  await once(socket, 'listening');
  expect(await restore(join(scratch, 'socket'))).toMatchObject({ status: 2, err: expect.stringContaining('cannot read') });
  socket.close();
  expect(await countTables()).toBe(0);
});

test('restore rejects a manifest with an invalid member, a file outside the backup, or a missing table', async () => {
  const { path, manifest } = copyBackup('manifest');
  const [table, ...others] = manifest.tables;
  const outside = { ...table!, rows: 1, parts: [{ file: '../secret', rows: 1, bytes: 1, rawBytes: 1, sha256: '' }] };
  writeManifest(path, { ...manifest, tables: [outside, ...others] });
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining('no valid member tables') });
  writeManifest(path, { ...manifest, workspaces: [{ id: tenantId }] });
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining('no valid member workspaces') });
  const [{ parts, ...empty }, ...rest] = manifest.tables as [BackupManifest['tables'][0], ...BackupManifest['tables']];
  for (const [member, value] of [
    ['tables', [null, ...manifest.tables]],
    ['tables', [{ ...empty, parts: [null, ...parts] }, ...rest]],
    ['sequences', [null]],
    ['workspaces', [null]],
  ] as const) {
    writeManifest(path, { ...manifest, [member]: value });
    expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining(`no valid member ${member}`) });
  }
  writeManifest(path, { ...manifest, tables: others });
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining('has no table') });
});

test('restore leaves no row after a failed load, and the next restore succeeds', async () => {
  const { path, manifest } = copyBackup('half');
  const table = manifest.tables.find(({ name }) => name === 'tree_nodes' || name === 'log_heads')!;
  table.columns = [...table.columns].reverse();
  writeManifest(path, manifest);
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining(`columns of ${table.name}`) });
  expect(await target.sql('SELECT id FROM countersign.tenants')).toEqual([]);
  expect(await restore(folder)).toMatchObject({ status: 0 });
});

test('restore rejects a backup of a newer schema', async () => {
  const { path, manifest } = copyBackup('newer');
  writeManifest(path, { ...manifest, migrations: [...manifest.migrations, '999999_from-the-future'] });
  expect(await restore(path)).toMatchObject({ status: 6, err: expect.stringContaining('999999_from-the-future') });
});

test.each([
  [2, 6, 'made by a newer Countersign'],
  [0, 1, 'manifest.json has no valid member version'],
  ['2', 1, 'manifest.json has no valid member version'],
  [undefined, 1, 'manifest.json has no valid member version'],
])('restore rejects a manifest of version %j with exit code %i', async (version, status, message) => {
  const { path, manifest } = copyBackup(`version ${version} ${typeof version}`);
  writeManifest(path, { ...manifest, version });
  expect(await restore(path)).toMatchObject({ status, err: expect.stringContaining(message) });
});

test('restore rejects a backup from before 0.1.0', async () => {
  const { path, manifest } = copyBackup('unreleased');
  writeManifest(path, { ...manifest, migrations: ['000001_workspaces-and-keys', '000002_runs-and-evaluations'] });
  expect(await restore(path)).toMatchObject({ status: 9, err: expect.stringContaining('before 0.1.0') });
});

test('restore loads a backup of an older schema and then migrates it', async () => {
  const known = knownMigrations();
  await migrate(target.owner, { migrationsMax: known.length - 1 });
  for (const table of ['instance', 'signing_keys']) {
    const rows = await server.database.sql<{ row: object }>(`SELECT to_jsonb(t) AS row FROM countersign.${table} AS t`);
    for (const { row } of rows)
      await target.sql(`INSERT INTO countersign.${table} SELECT * FROM jsonb_populate_record(NULL::countersign.${table}, $1)`, [
        row,
      ]);
  }
  const path = join(scratch, 'older/');
  const client = new pg.Client(target.owner);
  await client.connect();
  const parameters = { madeAt: new Date().toISOString(), madeBy: 'test', encryptSecrets: undefined, progress: undefined };
  const { migrations } = await writeBackup(client, await createBackup(path, new Date()), parameters);
  const columnsOf = new Map((await listCopiedTables(client)).map(({ name, columns }) => [name, columns]));
  await client.end();
  expect(migrations).toEqual(known.slice(0, -1));
  // The older server also copied the columns that the last migration removes. All tables with such columns are empty here.
  const manifest = readManifest(path);
  writeManifest(path, {
    ...manifest,
    tables: manifest.tables.map((table) => ({ ...table, columns: columnsOf.get(table.name) })),
  });
  await target.drop();
  target = await emptyDatabase();
  expect(await restore(path)).toMatchObject({ status: 0 });
  expect(await target.sql('SELECT count(*)::int AS n FROM countersign.migrations')).toEqual([{ n: known.length }]);
});

test('the verification after a restore finds an altered row in a part whose SHA-256 was recomputed', async () => {
  const { path, manifest } = copyBackup('forged');
  const part = manifest.tables.find(({ name }) => name === 'audit_entries')!.parts[0]!;
  const raw = zlib.zstdDecompressSync(readFileSync(join(path, part.file)));
  const offset = raw.indexOf('"actor":"two"');
  expect(offset).toBeGreaterThan(0);
  raw.write('"actor":"six"', offset);
  const forged = zlib.zstdCompressSync(raw);
  writeFileSync(join(path, part.file), forged);
  Object.assign(part, { bytes: forged.length, sha256: createHash('sha256').update(forged).digest('hex') });
  writeManifest(path, manifest);
  expect(await restore(path)).toMatchObject({
    status: 1,
    out: expect.stringMatching(/log audit: broken at seq \d/),
    err: expect.stringContaining('do not start a server'),
  });
});

test('the verification after a restore finds a log with fewer rows than the manifest states', async () => {
  const { path, manifest } = copyBackup('short');
  manifest.workspaces[0]!.logs.audit!.size += 1;
  writeManifest(path, manifest);
  expect(await restore(path)).toMatchObject({ status: 1, out: expect.stringContaining('the head in the backup of') });
});

test('restore rejects a backup whose manifest omits a workspace, because the logs of that workspace would not be verified', async () => {
  const { path, manifest } = copyBackup('unlisted');
  manifest.workspaces = [];
  writeManifest(path, manifest);
  expect(await restore(path)).toMatchObject({ status: 1, err: expect.stringContaining(`has rows of workspace ${tenantId}`) });
  expect(await target.sql('SELECT FROM countersign.tenants')).toEqual([]);
});

test('restore requires the passphrase for the secrets and does not overwrite a file with another secret', async () => {
  const secrets = join(scratch, 'secrets');
  const noSecrets = { COUNTERSIGN_MASTER_SECRET: undefined, COUNTERSIGN_SIGNING_KEY: undefined };
  const withSecrets = ['--with-secrets', '--secrets-output', secrets];
  expect(await restore(folder, { ...noSecrets, ...wrongPassphrase }, ...withSecrets)).toMatchObject({
    status: 7,
    err: expect.stringContaining('passphrase'),
  });
  expect(await restore(folder, noSecrets, ...withSecrets)).toMatchObject({ status: 3 });
  expect(await restore(folder, { ...noSecrets, COUNTERSIGN_BACKUP_PASSPHRASE: 'short' }, ...withSecrets)).toMatchObject({
    status: 3,
  });
  expect(await restore(folder, { ...noSecrets, ...rightPassphrase }, '--with-secrets')).toMatchObject({ status: 2 });
  expect(await restore(folder, noSecrets)).toMatchObject({ status: 7, err: expect.stringContaining('with --with-secrets') });
  expect(await countTables()).toBe(0);
  expect(await restore(folder, { ...noSecrets, ...rightPassphrase }, ...withSecrets)).toMatchObject({ status: 0 });
  expect(readFileSync(join(secrets, 'master-secret'), 'utf8').trim()).toBe(environmentOf(server).COUNTERSIGN_MASTER_SECRET);
  writeFileSync(join(secrets, 'master-secret'), 'another');
  expect(await restore(folder, { ...noSecrets, ...rightPassphrase }, ...withSecrets)).toMatchObject({ status: 9 });
  expect(readFileSync(join(secrets, 'master-secret'), 'utf8')).toBe('another');
  const bare = join(scratch, 'bare.backup');
  expect(await backup(bare)).toMatchObject({ status: 0 });
  expect(await restore(bare, rightPassphrase, ...withSecrets)).toMatchObject({
    status: 7,
    err: expect.stringContaining('contains no secrets'),
  });
});

test('restore writes no secrets if the database is not empty or cannot be reached', async () => {
  const secrets = join(scratch, 'unwritten');
  const noSecrets = { COUNTERSIGN_MASTER_SECRET: undefined, COUNTERSIGN_SIGNING_KEY: undefined };
  const withSecrets = ['--with-secrets', '--secrets-output', secrets];
  expect(await restore(folder)).toMatchObject({ status: 0 });
  const refused = await restore(folder, { ...noSecrets, ...rightPassphrase }, ...withSecrets);
  expect(refused).toMatchObject({ status: 9, err: expect.stringMatching(/not empty .*Nothing was changed/) });
  const missing = socketUrl({ ...target.owner, database: 'no_such_database' });
  const urls = { DATABASE_URL: missing, COUNTERSIGN_MIGRATE_DATABASE_URL: missing };
  expect(await restore(folder, { ...noSecrets, ...rightPassphrase, ...urls }, ...withSecrets)).toMatchObject({ status: 8 });
  expect(existsSync(secrets)).toBe(false);
});

test('if the folder for the secrets has another secret, restore refuses to start and creates no tables', async () => {
  const secrets = join(scratch, 'other-secrets');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'master-secret'), 'another');
  expect(await restore(folder, rightPassphrase, '--with-secrets', '--secrets-output', secrets)).toMatchObject({
    status: 9,
    err: expect.stringContaining('differs from the one in the backup; move the file away first (nothing was changed)'),
  });
  expect(readdirSync(secrets)).toEqual(['master-secret']);
  expect(await countTables()).toBe(0);
});

test('restore rejects secrets that are malformed or too long', async () => {
  const sealed = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8'));
  for (const nonce of ['', Buffer.alloc(300).toString('base64')])
    expect(() => decryptSecrets(Buffer.from(JSON.stringify({ ...sealed, nonce })), 'correct horse battery', 'id')).toThrow(
      'secrets.json does not have the form of encrypted secrets',
    );
  const { path } = copyBackup('long-secrets');
  truncateSync(join(path, 'secrets.json'), 65_537);
  const noSecrets = { COUNTERSIGN_MASTER_SECRET: undefined, COUNTERSIGN_SIGNING_KEY: undefined };
  expect(
    await restore(path, { ...noSecrets, ...rightPassphrase }, '--with-secrets', '--secrets-output', join(scratch, 'none')),
  ).toMatchObject({
    status: 1,
    err: expect.stringContaining('secrets.json has 65537 bytes, but at most 65536 are allowed'),
  });
});

test('restore refuses to write anything with another master secret or without a signing key', async () => {
  const otherSecret = Buffer.alloc(32, 7).toString('base64');
  expect(await restore(folder, { COUNTERSIGN_MASTER_SECRET: otherSecret })).toMatchObject({ status: 7 });
  expect(await restore(folder, { COUNTERSIGN_SIGNING_KEY: undefined })).toMatchObject({ status: 7 });
  expect(await countTables()).toBe(0);
});

test('if a checkpoint in the memory folder is damaged, commands exit with 9 and name the file, and restore loads no row', async () => {
  const memory = join(scratch, 'memory');
  const file = join(memory, tenantId, 'audit.checkpoint');
  mkdirSync(join(memory, tenantId), { recursive: true });
  writeFileSync(file, 'garbage');
  const damaged = { status: 9, err: expect.stringMatching(/audit\.checkpoint is damaged.*move the file away.*operating\.md/) };
  const variables = { ...environmentOf(server), COUNTERSIGN_MEMORY_DIR: memory };
  expect(await restore(folder, { COUNTERSIGN_MEMORY_DIR: memory })).toMatchObject(damaged);
  expect(await countTables()).toBe(0);
  expect(await runCommand(variables, 'ledger', 'verify', '--workspace', 'acme')).toMatchObject(damaged);
  expect(await runCommand(variables, 'ledger', 'accept-restore', '--workspace', 'acme')).toMatchObject(damaged);
  rmSync(file);
  expect(await runCommand(variables, 'ledger', 'verify', '--workspace', 'acme')).toMatchObject({ status: 0 });
});

test('restore refuses a retired key as the current signing key, even if the previous key is not retired, and loads no row', async () => {
  const pem = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const [first, second] = [environmentOf(server).COUNTERSIGN_SIGNING_KEY!, pem()];
  const rotated = { COUNTERSIGN_SIGNING_KEY: second, COUNTERSIGN_SIGNING_KEY_PREVIOUS: first };
  const source = { ...environmentOf(server), ...environment() };
  expect(await restore(folder)).toMatchObject({ status: 0 });
  expect(await runCommand({ ...source, ...rotated }, 'signing-key', 'show')).toMatchObject({ status: 0 });
  const pool = withSecret(openPool(target.owner, { size: 1, name: 'test' }), environmentOf(server).COUNTERSIGN_MASTER_SECRET!);
  expect(await markSigningKeyRetired(pool, signingKeyId(createPrivateKey(first)))).toBe(true);
  await pool.end();
  const file = join(scratch, 'rotated.backup');
  expect(await runCommand({ ...source, COUNTERSIGN_SIGNING_KEY: second }, 'backup', '--output', file)).toMatchObject({
    status: 0,
  });
  await target.drop();
  target = await emptyDatabase();
  const swapped = { COUNTERSIGN_SIGNING_KEY: first, COUNTERSIGN_SIGNING_KEY_PREVIOUS: second };
  expect(await restore(file, swapped)).toMatchObject({ status: 7, err: expect.stringContaining('was retired') });
  expect(await target.sql('SELECT id FROM countersign.tenants')).toEqual([]);
  expect(await restore(file, { COUNTERSIGN_SIGNING_KEY: second })).toMatchObject({ status: 0 });
});

test('backup refuses to write to an existing file or a folder that is not empty, and leaves no partial file', async () => {
  const file = join(scratch, 'existing');
  writeFileSync(file, 'kept');
  expect(await backup(file)).toMatchObject({ status: 2, err: expect.stringContaining('exists') });
  expect(readFileSync(file, 'utf8')).toBe('kept');
  expect(await backup(folder)).toMatchObject({ status: 2, err: expect.stringContaining('not empty') });
  expect(await backup(join(scratch, 'no', 'folder'))).toMatchObject({ status: 2 });
  expect(readdirSync(scratch).filter((name) => name.endsWith('.partial'))).toEqual([]);
});

test('backup names and leaves out tables, columns and sequences that Countersign did not create; restore accepts the backup', async () => {
  await server.database.sql(`CREATE TABLE countersign.notes (id bigserial, note text);
    INSERT INTO countersign.notes (note) VALUES ('mine');
    GRANT SELECT ON countersign.notes, countersign.notes_id_seq TO PUBLIC;
    ALTER TABLE countersign.people ADD COLUMN department text`);
  try {
    const file = join(scratch, 'added.backup');
    const message =
      'left out, because Countersign did not create them: column people.department, sequence notes_id_seq, table notes;';
    expect(await backup(file)).toMatchObject({ status: 0, err: expect.stringContaining(message) });
    expect(await restore(file)).toMatchObject({ status: 0, out: expect.stringMatching(/^valid: /) });
  } finally {
    await server.database.sql('DROP TABLE countersign.notes; ALTER TABLE countersign.people DROP COLUMN department');
  }
});
