import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { openPool } from '../../src/database/pool.ts';
import { openPools } from '../../src/database/pools.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

test('an older schema is not migrated while a server is connected, and is migrated once that server has stopped', async () => {
  const olderCount = knownMigrations().length - 1;
  await migrate(database.owner, { migrationsMax: olderCount, serverRole: database.server.user });
  const { host, port, user, database: name } = database.server;
  const address = `postgres://${user}@localhost/${name}?host=${encodeURIComponent(host)}&port=${port}&application_name=other`;
  const server = openPool({ connectionString: address }, { size: 1, name: 'ledger' });
  await server.query('SELECT 1');
  await expect(migrate(database.owner)).rejects.toMatchObject({
    reason: 'refused',
    message: expect.stringMatching(/still connected to it \(countersign-ledger, process \d+ of PostgreSQL\); stop all servers/),
  });
  expect(await database.sql('SELECT count(*)::int AS n FROM countersign.migrations')).toEqual([{ n: olderCount }]);
  const migrating = migrate(database.owner);
  setTimeout(() => void server.end(), 500);
  expect((await migrating).migrations).toEqual(knownMigrations().slice(olderCount));
}, 30_000);

test('an older schema is not migrated while only the lookup connection of a server is left, as after a restart of PostgreSQL', async () => {
  await migrate(database.owner, { migrationsMax: knownMigrations().length - 1 });
  const { lookupPool } = openPools(database.owner, 1);
  await lookupPool.query('SELECT 1');
  await expect(migrate(database.owner)).rejects.toMatchObject({
    reason: 'refused',
    message: expect.stringContaining('countersign-lookup'),
  });
  await lookupPool.end();
});

test('an older schema is migrated while other processes only start or wait, even if a pooler extends their application names', async () => {
  await migrate(database.owner, { migrationsMax: knownMigrations().length - 1 });
  const connect = async (application_name: string) => {
    const client = new pg.Client({ ...database.owner, application_name });
    await client.connect();
    return client;
  };
  const names = ['countersign-start', 'countersign-start - 127.0.0.1:50776', 'countersign-migrate - 127.0.0.1:50777'];
  const waitingClients = await Promise.all(names.map(connect));
  const server = await connect('countersign-lookup - 127.0.0.1:50778');
  await expect(migrate(database.owner)).rejects.toMatchObject({ message: expect.stringContaining('countersign-lookup - ') });
  await server.end();
  expect((await migrate(database.owner)).migrations).toEqual(knownMigrations().slice(-1));
  await Promise.all(waitingClients.map((client) => client.end()));
});
