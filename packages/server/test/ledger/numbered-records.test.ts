import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrate.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

const [TENANT, OTHER] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
const AGENT = '33333333-3333-4333-8333-333333333333';
const id = (letter: string, number: number) => `${letter.repeat(8)}-0000-4000-8000-${String(number).padStart(12, '0')}`;
/** A minute between 9:00 and 10:00 on one day. */
const minute = (number: number) => `2026-03-01T09:${String(number).padStart(2, '0')}:00.000Z`;
const IN_TWENTY_YEARS = '2046-03-01T09:00:00.000Z';

let database: TestDatabase;

/** Runs the next `count` migrations. */
async function migrateBy(count: number): Promise<string[]> {
  const client = new pg.Client(database.owner);
  await client.connect();
  try {
    const run = await runner({
      dbClient: client,
      dir: fileURLToPath(new URL('../../migrations/', import.meta.url)),
      ignorePattern: '(?!\\d{6}_).*',
      direction: 'up',
      count,
      migrationsTable: 'migrations',
      schema: 'countersign',
      migrationsSchema: 'countersign',
      createSchema: true,
      createMigrationsSchema: true,
      log: () => undefined,
    });
    return run.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * The number of migrations before records were numbered, and before logs were sealed. No later migration applies to such a
 * database.
 */
const [UNNUMBERED, UNSEALED] = [12, 18];

const evaluation = (number: number, at: string, tenant = TENANT) =>
  database.sql(
    `INSERT INTO countersign.evaluations (tenant_id, id, recorded_at, recorded_by, agent_id, name, status, document)
     VALUES ($1, $2, $3, 'key:0123456789ab', $4, 'nightly', 'passing', '{}')`,
    [tenant, id('e', number), at, AGENT],
  );
async function incident(number: number, at: string): Promise<void> {
  await database.sql(
    `INSERT INTO countersign.incidents (tenant_id, id, agent_id, severity, description, opened_at, opened_by)
     VALUES ($1, $2, $3, 'high', 'it lied', $4, 'operator')`,
    [TENANT, id('c', number), AGENT, at],
  );
  await database.sql(
    `INSERT INTO countersign.recertifications (tenant_id, incident_id, agent_id, opened_at) VALUES ($1, $2, $3, $4)`,
    [TENANT, id('c', number), AGENT, at],
  );
}
const approval = (evaluated: number, requestedAt: string, decidedAt: string | null) =>
  database.sql(
    `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_at, requested_by, decided_at, decided_by, rationale)
     VALUES ($1, $2, $3, CASE WHEN $5::timestamptz IS NULL THEN 'pending' ELSE 'approved' END, $4, 'key:0123456789ab', $5,
             CASE WHEN $5::timestamptz IS NOT NULL THEN 'operator' END, CASE WHEN $5::timestamptz IS NOT NULL THEN 'seen' END)`,
    [TENANT, id('e', evaluated), AGENT, requestedAt, decidedAt],
  );
const decision = (seq: number, evaluated: number, at: string) =>
  database.sql(
    `INSERT INTO countersign.decisions (tenant_id, seq, id, recorded_at, recorded_by, agent_id, evaluation_id, allowed, reason, event, response_sha256, document)
     VALUES ($1, $2, $3, $4, 'key:0123456789ab', $5, $6, true, 'all_conditions_met', 'promotion.allowed', sha256('x'), '{}')`,
    [TENANT, seq, id('d', seq), at, AGENT, id('e', evaluated)],
  );

/** The seq of each evaluation before the migration. */
const numbers = new Map<number, number>();

beforeAll(async () => {
  database = await cloneDatabase();
  await database.sql('DROP SCHEMA countersign CASCADE');
  await migrateBy(UNNUMBERED);
  await database.sql(`INSERT INTO countersign.tenants (id, name) VALUES ('${TENANT}', 'before'), ('${OTHER}', 'beside')`);
  for (const tenant of [TENANT, OTHER])
    await database.sql(`INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'bot')`, [tenant, AGENT]);
  await evaluation(1, minute(10));
  await evaluation(1, minute(11), OTHER);
  await evaluation(2, minute(20));
  // The third was recorded while a clock was ahead; the clock was correct again afterwards.
  await evaluation(3, IN_TWENTY_YEARS);
  await evaluation(4, minute(40));
  await evaluation(4, minute(41), OTHER);
  await incident(1, minute(5));
  await incident(2, minute(15));
  await incident(3, minute(20));
  await incident(4, minute(45));
  await incident(5, '2046-03-01T10:00:00.000Z');
  await approval(1, minute(12), minute(14));
  await approval(2, minute(22), null);
  await decision(1, 1, minute(13));
  await decision(2, 2, minute(13));
  await decision(3, 1, minute(16));
  const rows = await database.sql<{ id: string; seq: string }>(
    'SELECT id, seq FROM countersign.evaluations WHERE tenant_id = $1',
    [TENANT],
  );
  for (const row of rows) numbers.set(Number(row.id.slice(-12)), Number(row.seq));
  expect(await migrateBy(UNSEALED - UNNUMBERED)).toContain('000013_order-by-number');
});
afterAll(() => database.drop());

describe('the migration that numbers existing records', () => {
  test('keeps the order of evaluations and numbers the next one after them', async () => {
    const order = async () =>
      (
        await database.sql<{ id: string }>('SELECT id FROM countersign.evaluations WHERE tenant_id = $1 ORDER BY seq', [TENANT])
      ).map((row) => Number(row.id.slice(-12)));
    expect(await order()).toEqual([1, 2, 3, 4]);
    await evaluation(5, minute(50));
    expect(await order()).toEqual([1, 2, 3, 4, 5]);
    const [counted] = await database.sql<{ clash: string }>(
      'SELECT count(*) - count(DISTINCT seq) AS clash FROM countersign.evaluations',
    );
    expect(counted).toEqual({ clash: '0' });
  });

  test('numbers an incident and its re-certification after every evaluation up to its time', async () => {
    const rows = await database.sql<{ id: string; seq: string; opened_seq: string }>(
      `SELECT i.id, i.seq, r.opened_seq FROM countersign.incidents AS i JOIN countersign.recertifications AS r ON r.incident_id = i.id ORDER BY i.id`,
    );
    // The last incident was opened while the clock was ahead. The fourth evaluation may be older than it and must not certify.
    const expected = [0, numbers.get(1)!, numbers.get(2)!, numbers.get(4)!, numbers.get(4)!];
    expect(rows.map(({ seq }) => Number(seq))).toEqual(expected);
    expect(rows.map(({ opened_seq }) => Number(opened_seq))).toEqual(expected);
  });

  test('gives an approval the decisions of its evaluation that existed before it', async () => {
    const rows = await database.sql<Record<string, string | null>>(
      'SELECT requested_seq, decided_seq, decisions_size FROM countersign.approvals ORDER BY evaluation_id',
    );
    const [first, second] = [String(numbers.get(1)), String(numbers.get(2))];
    expect(rows).toEqual([
      { requested_seq: first, decided_seq: first, decisions_size: '1' },
      { requested_seq: second, decided_seq: null, decisions_size: null },
    ]);
  });

  test('leaves no temporary table behind and makes incidents append-only again', async () => {
    expect(await database.sql(`SELECT to_regclass('countersign.numbers_by_moment') AS name`)).toEqual([{ name: null }]);
    await expect(database.sql("UPDATE countersign.incidents SET severity = 'low'")).rejects.toThrow(/append/i);
  });
});

test('refuses to migrate a database that contains workspaces without seals', async () => {
  await expect(migrate(database.owner, database.server.user)).rejects.toThrow(/by a version whose ledgers bear no seals/);
  const [{ count }] = (await database.sql<{ count: string }>('SELECT count(*) FROM countersign.migrations')) as [
    { count: string },
  ];
  expect(Number(count)).toBe(UNSEALED);
});
