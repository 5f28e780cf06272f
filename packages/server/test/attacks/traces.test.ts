import { hash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace = '';
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['trace_submissions', 'trace_events', 'log_heads'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(async () => {
  workspace = `w-${Math.random()}`;
  tenantId = await server.workspace(workspace);
  key = await server.key(tenantId, ['telemetry']);
});

const sql = (statement: string, values: unknown[] = []) => server.database.sql(statement, values);
const send = (traceId: string, more: object = {}) =>
  server.post(paths.traces, key, { trace_id: traceId, agent_name: 'bot', outcome: 'failure', spans: [], ...more });
const verify = async () => {
  const { status, out } = await runCommand(
    environmentOf(server),
    'ledger',
    'verify',
    '--workspace',
    workspace,
    '--log',
    'traces',
  );
  return [status, out];
};
const events = async () =>
  (
    await server.database.sql<{ document: string }>(
      'SELECT document FROM countersign.trace_events WHERE tenant_id = $1 ORDER BY seq',
      [tenantId],
    )
  ).map(({ document }) => JSON.parse(document));

describe('what was sent as a trace is held by the log `traces`', () => {
  test('which names trace, document, sender and agent of every submission, and is whole', async () => {
    const { status, body } = await send('run-1');
    expect(status).toBe(200);
    await send('run-1', { outcome: 'success' });
    const [agent] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE tenant_id = $1', [
      tenantId,
    ]);
    const sent = (outcome: string) => JSON.stringify({ trace_id: 'run-1', agent_name: 'bot', outcome, spans: [] });
    const submission = (number: number, outcome: string) => ({
      agent_id: agent!.id,
      document_sha256: hash('sha256', sent(outcome), 'hex'),
      export_sha256: null,
      id: (body as { id: string }).id,
      number,
      recorded_by: `key:${key.slice('aa_live_'.length, 'aa_live_'.length + 12)}`,
      trace_id: 'run-1',
    });
    const event = { version: 1, tenant_id: tenantId, action: 'traces.recorded' };
    expect(await events()).toMatchObject([
      { ...event, seq: 1, submissions: [submission(1, 'failure')] },
      { ...event, seq: 2, submissions: [submission(2, 'success')] },
    ]);
    expect(await verify()).toEqual([0, expect.stringMatching(/^whole: 2 entries/)]);
  });

  test.each([
    [
      'another document',
      'trace_submissions',
      `document = replace(document, 'failure', 'success')`,
      /document is not the one that was stored/,
    ],
    [
      'another sender',
      'trace_submissions',
      `recorded_by = 'key:abcdefabcdef'`,
      /recorded_by is key:abcdefabcdef, the log says key:/,
    ],
    ['another moment', 'trace_submissions', `received_at = received_at - interval '1 day'`, /received_at is .*, the log says/],
    ['another trace_id', 'traces', `trace_id = 'run-2'`, /trace_id is not what the log says/],
    ['no agent', 'traces', 'agent_id = NULL', /agent_id is null, the log says/],
    ['another count of submissions', 'traces', 'submission_count = 0', /submission_count is 0, the log has submission 1/],
  ])('%s in the row is named', async (_, table, set, why) => {
    const { body } = await send('run-1');
    await sql(`UPDATE countersign.${table} SET ${set} WHERE tenant_id = $1`, [tenantId]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringMatching(why)]);
    expect(out).toContain(`the row ${(body as { id: string }).id}, submission 1 differs from the log`);
  });

  test('a submission that was deleted, and one that was added', async () => {
    const { body } = await send('run-1');
    await send('run-2');
    await sql(
      `INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document, spans, export)
       SELECT tenant_id, trace, 2, received_at, recorded_by, document, spans, export FROM countersign.trace_submissions
        WHERE tenant_id = $1 AND trace = $2`,
      [tenantId, (body as { id: string }).id],
    );
    expect(await verify()).toEqual([
      1,
      expect.stringMatching(/submission 2 differs from the log: the log has no such submission/),
    ]);
    await sql('DELETE FROM countersign.trace_submissions WHERE tenant_id = $1 AND number = 2', [tenantId]);
    expect(await verify()).toEqual([0, expect.stringMatching(/^whole/)]);
    await sql('DELETE FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2', [
      tenantId,
      (body as { id: string }).id,
    ]);
    expect(await verify()).toEqual([1, expect.stringMatching(/submission 1 differs from the log: the row is gone/)]);
  });

  test('an event that was cut off with its rows stops the log: no trace is stored behind it', async () => {
    await send('run-1');
    await sql(`UPDATE countersign.log_heads SET seq = 0, tree_size = 0, frontier = '' WHERE tenant_id = $1 AND log = 'traces'`, [
      tenantId,
    ]);
    await sql('DELETE FROM countersign.trace_events WHERE tenant_id = $1', [tenantId]);
    const { status, body } = await send('run-2');
    expect([status, (body as { error: string }).error]).toEqual([500, 'log_rewritten']);
    expect((await verify())[0]).toBe(1);
  });
});
