import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

/*
 * An attacker changes the types of columns, or functions of PostgreSQL. Then the driver returns other values for the same rows, for example
 * the text '5' instead of the number 5. The server must not seal rows that it computes from such values.
 */

const AUDIT = { actor: 'ci', action: 'deployed' };
const EVALUATION = { name: 'n', agent_name: 'bot', status: 'passing', pass_rate: 95 };
const CHECK = { agent_name: 'bot' };
const trace = (traceId: string) => ({ trace_id: traceId, agent_name: 'bot', outcome: 'success', spans: [] });

let database: TestServer['database'];
let name = '';
let key = '';

beforeAll(async () => {
  ({ database } = await testServer({ checkpointSeconds: undefined }));
});
beforeEach(async () => {
  const server = await startFreshServer();
  name = `w-${Math.random()}`;
  key = await server.key(await server.workspace(name));
  for (const [path, body] of REQUESTS) expect((await server.post(path, key, body)).status).toBe(200);
});

const REQUESTS = [
  [paths.evaluations, EVALUATION],
  [paths.audit, AUDIT],
  [paths.promotionCheck, CHECK],
  [paths.traces, trace('run-1')],
] as const;

/** A server that has not read the logs yet and opens new connections. */
const startFreshServer = () => testServer({ checkpointSeconds: undefined, database });

/** Expects that the requests are rejected after the change, and accepted after it is undone. */
async function expectNothingSealed(
  change: string[],
  undo: string[],
  requests: readonly (readonly [string, object])[],
): Promise<void> {
  for (const statement of change) await database.sql(statement);
  try {
    const attacked = await startFreshServer();
    for (const [path, body] of requests)
      expect([path, await attacked.post(path, key, body)]).toMatchObject([
        path,
        { status: 500, body: { error: 'log_rewritten' } },
      ]);
  } finally {
    for (const statement of undo) await database.sql(statement);
  }
  const repaired = await startFreshServer();
  for (const [path, body] of requests) expect([path, (await repaired.post(path, key, body)).status]).toEqual([path, 200]);
  expect(await runCommand(environmentOf(repaired), 'ledger', 'verify', '--workspace', name, '--log', 'all')).toMatchObject({
    status: 0,
  });
}

describe('nothing is sealed, and the logs continue after the attack is undone, if', () => {
  const setTypes = (table: string, columns: readonly string[], type: string) =>
    `ALTER TABLE countersign.${table} ${columns.map((column) => `ALTER COLUMN ${column} TYPE ${type}`).join(', ')}`;

  test('the numbers in the heads of logs become text', async () => {
    const columns = ['seq', 'tree_size'];
    await expectNothingSealed([setTypes('log_heads', columns, 'numeric')], [setTypes('log_heads', columns, 'bigint')], REQUESTS);
  });

  test('the number of submissions of a trace becomes text', async () => {
    const columns = ['submission_count'];
    await expectNothingSealed(
      [setTypes('traces', columns, 'numeric')],
      [setTypes('traces', columns, 'integer')],
      [[paths.traces, { ...trace('run-1'), outcome: 'failure' }]],
    );
  });

  test('the function that formats times with milliseconds returns another format', async () => {
    const replacement = `SELECT CASE WHEN $2 LIKE '%MS%' THEN replace(pg_catalog.to_char_original($1, $2), 'T', ' ')
      ELSE pg_catalog.to_char_original($1, $2) END`;
    await expectNothingSealed(
      [
        'ALTER FUNCTION pg_catalog.to_char(timestamp, text) RENAME TO to_char_original',
        `CREATE FUNCTION pg_catalog.to_char(timestamp, text) RETURNS text LANGUAGE sql STABLE AS $$ ${replacement} $$`,
      ],
      [
        'DROP FUNCTION pg_catalog.to_char(timestamp, text)',
        'ALTER FUNCTION pg_catalog.to_char_original(timestamp, text) RENAME TO to_char',
      ],
      REQUESTS,
    );
  });
});
