import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';

const TENANT = '11111111-1111-4111-8111-111111111111';
const TRACE = '22222222-2222-4222-8222-222222222222';

let database: TestDatabase;

beforeAll(async () => {
  database = await cloneDatabase();
});

afterAll(() => database.drop());

const migration = (name: string): string => readFileSync(new URL(`../../migrations/${name}.sql`, import.meta.url), 'utf8');

/** Resets the schema to that before migration 000008. */
async function asBefore(): Promise<void> {
  const { user } = database.owner;
  const [spansTable] = /CREATE TABLE countersign\.spans \([\s\S]*?\n\);/.exec(migration('000002_runs-and-evaluations'))!;
  for (const statement of [
    'DROP VIEW countersign.spans',
    'DROP FUNCTION countersign.instant_of',
    'ALTER TABLE countersign.trace_submissions DROP COLUMN spans',
    ...['audit_entries', 'decisions', 'traces'].map(
      (table) =>
        `ALTER TABLE countersign.${table} ADD CONSTRAINT ${table}_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES countersign.tenants`,
    ),
    `ALTER TABLE countersign.trace_submissions ADD CONSTRAINT trace_submissions_tenant_id_trace_fkey
       FOREIGN KEY (tenant_id, trace) REFERENCES countersign.traces (tenant_id, id)`,
    spansTable,
    `ALTER TABLE countersign.spans OWNER TO ${user}`,
    `INSERT INTO countersign.tenants (id, name, created_at, seal) VALUES ('${TENANT}', 'before', now(), sha256('') || '\\x00')`,
    `INSERT INTO countersign.traces (tenant_id, id, trace_id, outcome, has_error, span_count, submission_count, received_at)
     VALUES ('${TENANT}', '${TRACE}', 'run', 'success', false, 2, 2, now())`,
    `INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document)
     SELECT '${TENANT}', '${TRACE}', n, now(), 'key:000000000000', '{}' FROM generate_series(1, 3) AS n`,
    `INSERT INTO countersign.spans (tenant_id, trace, span_id, submission, ordinal, kind, name, status, model, prompt_tokens, cost_usd, started_at)
     VALUES ('${TENANT}', '${TRACE}', 'a "quoted" one', 1, 0, 'llm', 'plan', 'success', 'gpt-4o', 9007199254740991, 0.1234567890123456789, '1969-12-31T23:59:59.999999Z'),
            ('${TENANT}', '${TRACE}', 'b', 2, 4, 'tool', 'find', 'error', NULL, NULL, NULL, '9999-12-31T23:59:59.123456Z')`,
  ])
    await database.sql(statement);
}

test('the migration keeps spans that were separate rows to the last digit', async () => {
  await asBefore();
  const spans = () => database.sql('SELECT to_jsonb(s) AS span FROM countersign.spans AS s ORDER BY span_id');
  const before = await spans();
  expect(before).toHaveLength(2);
  const owner = new pg.Client(database.owner);
  await owner.connect();
  await owner.query(`BEGIN; ${migration('000008_lean-appends')}; COMMIT`);
  await owner.end();
  expect(await spans()).toEqual(before);
  expect(await database.sql('SELECT spans FROM countersign.trace_submissions WHERE number = 3')).toEqual([{ spans: '[]' }]);
  await expect(database.sql("UPDATE countersign.trace_submissions SET spans = '[]'")).rejects.toThrow(/append/i);
});
