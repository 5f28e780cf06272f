import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { runCommand } from '../fixtures/run-command.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
let environment: Record<string, string>;
beforeEach(async () => {
  database = await cloneDatabase();
  environment = {
    DATABASE_URL: socketUrl(database.server),
    COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(database.owner),
    COUNTERSIGN_MASTER_SECRET: randomBytes(32).toString('base64'),
    COUNTERSIGN_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
});
afterEach(() => database.drop());

const known = knownMigrations();
const namesInOrder = async () =>
  (await database.sql<{ name: string }>('SELECT name FROM countersign.migrations ORDER BY run_on, id')).map(({ name }) => name);

test.each([
  ['the first migration', known.slice(0, 1)],
  ['a migration in between', known.slice(-2, -1)],
  ['the last migration', known.slice(-1)],
  ['the last two migrations', known.slice(-2)],
  ['the last three migrations', known.slice(-3)],
  ['all migrations', known],
])('the deleted rows of %s are put back, and the command names them', async (_which, deletedNames) => {
  await database.sql('DELETE FROM countersign.migrations WHERE name = ANY ($1)', [deletedNames]);
  const { status, err } = await runCommand(environment, 'migrate');
  const report = `rows of the table migrations were deleted outside the server: ${deletedNames.join(', ')}`;
  expect([status, err]).toEqual([0, expect.stringContaining(report)]);
  expect(await namesInOrder()).toEqual(known);
  expect((await runCommand(environment, 'workspace', 'list')).status).toBe(0);
});

test.each([
  ['a row before existing rows gets the time of the next one', known.slice(6, 7)],
  ['rows after the last existing row get the current time', known.slice(6)],
])('no row that is put back has a time before its migration ran: %s', async (_which, deletedNames) => {
  // `runs erase` assumes that the table export_runs existed at the time in the row of migration 000007.
  const ranOn = '2026-02-01';
  await database.sql(`UPDATE countersign.migrations SET run_on = CASE WHEN name < $1 THEN '2026-01-01' ELSE $2 END::timestamp`, [
    known[6],
    ranOn,
  ]);
  await database.sql('DELETE FROM countersign.migrations WHERE name = ANY ($1)', [deletedNames]);
  expect((await runCommand(environment, 'migrate')).status).toBe(0);
  expect(
    await database.sql('SELECT name FROM countersign.migrations WHERE name = ANY ($1) AND run_on < $2::timestamp', [
      deletedNames,
      ranOn,
    ]),
  ).toEqual([]);
  expect(await namesInOrder()).toEqual(known);
});

test('rows are put back in order even if the last remaining row was written in another time zone, with a time in the future', async () => {
  await database.sql(`UPDATE countersign.migrations SET run_on = now() + interval '14 hours'`);
  await database.sql('DELETE FROM countersign.migrations WHERE name = ANY ($1)', [known.slice(-3)]);
  expect((await runCommand(environment, 'migrate')).status).toBe(0);
  expect(await namesInOrder()).toEqual(known);
});

test('a deleted row is not put back if an object of the schema is missing or changed', async () => {
  for (const change of [
    'DROP TABLE countersign.key_last_use',
    'ALTER TABLE countersign.key_last_use ALTER COLUMN last_used_at TYPE timestamp',
  ]) {
    await database.sql('DELETE FROM countersign.migrations WHERE name = ANY ($1)', [known.slice(0, 1)]);
    await database.sql(change);
    expect((await runCommand(environment, 'migrate')).status).not.toBe(0);
    expect(await namesInOrder()).toEqual(known.slice(1));
    await database.drop();
    database = await cloneDatabase();
    environment = {
      ...environment,
      DATABASE_URL: socketUrl(database.server),
      COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(database.owner),
    };
  }
});

test('a schema that is really older is migrated', async () => {
  await database.sql('DROP SCHEMA countersign CASCADE');
  await migrate(database.owner, { migrationsMax: known.length - 1, serverRole: database.server.user });
  const { status, err } = await runCommand(environment, 'migrate');
  expect([status, err]).toEqual([0, expect.stringContaining(`migrated the database: ${known.at(-1)}`)]);
  expect(await namesInOrder()).toEqual(known);
});
