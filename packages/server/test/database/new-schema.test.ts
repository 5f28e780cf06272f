import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate, schemaLevel } from '../../src/database/migrate.ts';
import { openPool } from '../../src/database/pool.ts';
import { ExitError } from '../../src/errors/exit-codes.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

/** Migrates as the owner. Returns the reason and the message of the refusal. */
async function expectRefusal(name = database.owner.database): Promise<string> {
  const failure = await migrate({ ...database.owner, database: name }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ExitError);
  return `${(failure as ExitError).reason}: ${(failure as ExitError).message}`;
}

test.each(['LATIN1', 'SQL_ASCII', 'EUC_JP'])('a database with the encoding %s is refused', async (encoding) => {
  const name = `${database.owner.database}_${encoding.toLowerCase()}`;
  await database.sql(`CREATE DATABASE ${name} OWNER ${database.owner.user} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
  try {
    expect(await expectRefusal(name)).toMatch(new RegExp(`^refused: the database has the encoding ${encoding}, .*UTF8`));
  } finally {
    await database.sql(`DROP DATABASE ${name} WITH (FORCE)`);
  }
});

test('a schema of another role is refused, and accepted once the migrating role owns it', async () => {
  await database.sql('CREATE SCHEMA countersign');
  expect(await expectRefusal()).toMatch(/^refused: the role that migrates may not create tables in the schema countersign/);
  await database.sql(`ALTER SCHEMA countersign OWNER TO ${database.owner.user}`);
  expect((await migrate(database.owner)).migrations).not.toEqual([]);
});

test('a role with USAGE and CREATE on an existing schema can migrate it without the right to create schemas in the database', async () => {
  await database.sql('CREATE SCHEMA countersign');
  await database.sql(`GRANT USAGE, CREATE ON SCHEMA countersign TO ${database.owner.user}`);
  await database.sql(`ALTER DATABASE ${database.owner.database} OWNER TO CURRENT_USER`);
  expect((await migrate(database.owner)).migrations).not.toEqual([]);
});

test('a schema of another role is refused if the migrating role may use it, but not create tables in it', async () => {
  await database.sql('CREATE SCHEMA countersign');
  await database.sql(`GRANT USAGE ON SCHEMA countersign TO ${database.owner.user}`);
  expect(await expectRefusal()).toMatch(/^refused: the role that migrates may not create tables in the schema countersign/);
});

test('a schema with tables of another program has the level `empty` and is refused, whether or not the role may read them', async () => {
  await database.sql(`CREATE SCHEMA countersign AUTHORIZATION ${database.owner.user}`);
  await database.sql('CREATE TABLE countersign.tenants (name text)');
  expect(await expectRefusal()).toMatch(/^refused: the schema countersign of this database has the table tenants/);
  await database.sql(`ALTER TABLE countersign.tenants OWNER TO ${database.owner.user}`);
  expect(await expectRefusal()).toMatch(/has the table tenants/);
  const pool = openPool(database.owner, { size: 1, name: 'level' });
  expect(await schemaLevel(pool).finally(() => pool.end())).toBe('empty');
});
