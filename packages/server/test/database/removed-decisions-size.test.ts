import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../harness/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

const MIGRATION = '000010_approvals-without-decisions-size';

/** Stores an approval of a new workspace, as a server before migration 000010 did. */
async function insertApproval(): Promise<void> {
  const [tenant, agent, evaluation] = [randomUUID(), randomUUID(), randomUUID()];
  await database.sql(
    `INSERT INTO countersign.tenants (id, name, created_at, seal) VALUES ($1, 'acme', now(), decode(repeat('00', 33), 'hex'))`,
    [tenant],
  );
  await database.sql(`INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'bot')`, [tenant, agent]);
  await database.sql(
    `INSERT INTO countersign.evaluations (tenant_id, id, seq, recorded_at, recorded_by, agent_id, name, status, evaluated_at, document)
     VALUES ($1, $2, 1, now(), 'operator', $3, 'tests', 'passing', now(), '{}')`,
    [tenant, evaluation, agent],
  );
  await database.sql(
    `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_by, decided_at, decided_by, rationale,
       decided_seq, decisions_size)
     VALUES ($1, $2, $3, 'approved', 'operator', now(), 'operator', 'seen', 7, 3)`,
    [tenant, evaluation, agent],
  );
}

test('migration 000010 keeps decided approvals, and the constraint that each of them has a decided_seq', async () => {
  await migrate(database.owner, { migrationsMax: knownMigrations().indexOf(MIGRATION) });
  await insertApproval();
  await migrate(database.owner);
  expect(await database.sql('SELECT status, rationale, decided_seq::text FROM countersign.approvals')).toEqual([
    { status: 'approved', rationale: 'seen', decided_seq: '7' },
  ]);
  await expect(database.sql('UPDATE countersign.approvals SET decided_seq = NULL')).rejects.toThrow('approvals_check2');
}, 60_000);

test('the deleted row of migration 000010 is put back', async () => {
  await database.sql('DELETE FROM countersign.migrations WHERE name = $1', [MIGRATION]);
  const { putBack } = await migrate(database.owner, { isComplete: async () => true });
  expect(putBack).toEqual([MIGRATION]);
});
