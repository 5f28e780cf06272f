import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

test('migration 000008 removes the digests of old skeletons in every workspace and keeps the rights of the server', async () => {
  const olderCount = knownMigrations().findIndex((name) => name.startsWith('000008'));
  await migrate(database.owner, { migrationsMax: olderCount, serverRole: database.server.user });
  for (const tenant of [randomUUID(), randomUUID()]) {
    await database.sql(
      `INSERT INTO countersign.tenants (id, name, created_at, seal) VALUES ($1, $2, now(), decode(repeat('00', 33), 'hex'))`,
      [tenant, tenant],
    );
    await database.sql(
      `INSERT INTO countersign.agents (tenant_id, id, name, name_skeleton, name_skeleton_caseless)
       VALUES ($1, gen_random_uuid(), 'support bot', sha256('old'), sha256('old'))`,
      [tenant],
    );
  }
  const rights = () =>
    database.sql(
      `SELECT column_name FROM information_schema.role_column_grants
        WHERE table_name = 'agents' AND grantee = 'countersign_server' AND privilege_type = 'UPDATE' ORDER BY column_name`,
    );
  const before = await rights();
  await migrate(database.owner);
  expect(
    await database.sql('SELECT name, name_skeleton, name_skeleton_caseless FROM countersign.agents ORDER BY tenant_id'),
  ).toEqual(Array(2).fill({ name: 'support bot', name_skeleton: null, name_skeleton_caseless: null }));
  expect(await rights()).toEqual(before);
}, 60_000);
