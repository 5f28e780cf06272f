import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectClient } from '../../src/database/client.ts';
import { knownMigrations, MIGRATION_LOCK, migrate } from '../../src/database/migrate.ts';
import { socketUrl } from '../fixtures/process-environment.ts';
import { runCommand } from '../fixtures/run-command.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';

/** The environment of a command with two database roles and new secrets. */
const environmentFor = (database: TestDatabase): Record<string, string> => ({
  DATABASE_URL: socketUrl(database.server),
  COUNTERSIGN_MIGRATE_DATABASE_URL: socketUrl(database.owner),
  COUNTERSIGN_MASTER_SECRET: randomBytes(32).toString('base64'),
  COUNTERSIGN_SIGNING_KEY: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});

test('of two concurrent `migrate` commands, only the one that ran the migrations names them', async () => {
  const database = await emptyDatabase();
  try {
    await migrate(database.owner, { migrationsMax: knownMigrations().length - 1, serverRole: database.server.user });
    const environment = environmentFor(database);
    // Both commands find the older schema and wait for the migration lock.
    const lockHolder = await connectClient(database.owner, 'migrate');
    await lockHolder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const both = [runCommand(environment, 'migrate'), runCommand(environment, 'migrate')];
    await waitForBlockedStatements(database, 2);
    await lockHolder.end();
    const lines = (await Promise.all(both)).map(({ err }) => err.split('\n')[0]!);
    expect(lines.filter((line) => line.startsWith('migrated the database'))).toEqual([
      `migrated the database: ${knownMigrations().at(-1)}`,
    ]);
  } finally {
    await database.drop();
  }
}, 30_000);

test('`migrate` and other commands work with a table that an administrator has added to the schema', async () => {
  const database = await emptyDatabase();
  try {
    const environment = environmentFor(database);
    await migrate(database.owner, { migrationsMax: knownMigrations().length - 1, serverRole: database.server.user });
    await database.sql('CREATE TABLE countersign.notes_of_administrators (note text)');
    expect(await runCommand(environment, 'migrate')).toMatchObject({ status: 0, out: `${knownMigrations().at(-1)}\n` });
    expect(await runCommand(environment, 'workspace', 'list')).toMatchObject({ status: 0 });
  } finally {
    await database.drop();
  }
}, 30_000);

test('`migrate` grants missing rights even if the schema is current, and a command that lacks a right says to run `migrate`', async () => {
  const database = await emptyDatabase();
  try {
    const environment = environmentFor(database);
    expect(await runCommand(environment, 'migrate')).toMatchObject({ status: 0 });
    await database.sql(`REVOKE INSERT ON countersign.tenants FROM ${database.server.user}`);
    expect(await runCommand(environment, 'workspace', 'create', '--name', 'acme')).toMatchObject({
      status: 8,
      err: expect.stringMatching(/lacks a right \(permission denied for table tenants\).* run `countersign-server migrate`/),
    });
    expect(await runCommand(environment, 'migrate')).toMatchObject({
      status: 0,
      out: '',
      err: expect.stringContaining(`granted the role ${database.server.user} its rights on the tables\n`),
    });
    expect(await runCommand(environment, 'workspace', 'create', '--name', 'acme')).toMatchObject({ status: 0 });
  } finally {
    await database.drop();
  }
}, 30_000);
