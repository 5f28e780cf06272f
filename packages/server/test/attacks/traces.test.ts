import { hash } from 'node:crypto';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { verifyTraces } from '../../src/ledger/verify-traces.ts';
import { HIGHEST_ID, LOWEST_ID } from '../../src/storage/id-range.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { exporter } from '../otlp/sending.ts';
import { chatRun, jsonExport } from '../otlp/test-exports.ts';

/** Members of a run that columns are computed from. */
const DETAILS = {
  session_id: 's-1',
  external_user_id: 'u-1',
  latency_ms: 900,
  error: 'it failed',
  started_at: '2026-11-20T09:30:00.123456Z',
  ended_at: '2026-11-20T09:30:01Z',
  spans: [
    { span_id: 'a', kind: 'llm', name: 'one', model: 'gpt-a', prompt_tokens: 5, completion_tokens: 2, cost_usd: 0.1 },
    { span_id: 'b', kind: 'llm', name: 'two', status: 'error', total_tokens: 5, cost_usd: 0.2 },
  ],
};
const OTLP_TRACE = '0af7651916cd43dd8448eb211c80319c';

let server: TestServer;
let workspace = '';
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['traces', 'trace_submissions', 'trace_events', 'log_heads', 'merged_spans', 'merged_traces'])
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

describe('the trace log', () => {
  test('names trace, document, sender and agent of every submission, and is valid', async () => {
    const { status, body } = await send('run-1');
    expect(status).toBe(200);
    await send('run-1', { outcome: 'success' });
    const [agent] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE tenant_id = $1', [
      tenantId,
    ]);
    const sentBody = (outcome: string) => JSON.stringify({ trace_id: 'run-1', agent_name: 'bot', outcome, spans: [] });
    const submission = (number: number, outcome: string) => ({
      agent_id: agent!.id,
      document_sha256: hash('sha256', sentBody(outcome), 'hex'),
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
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 2 entries/)]);
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
    ['another time', 'trace_submissions', `received_at = received_at - interval '1 day'`, /received_at is .*, the log says/],
    ['another trace_id', 'traces', `trace_id = 'run-2'`, /trace_id is not what the log says/],
    ['no agent', 'traces', 'agent_id = NULL', /agent_id is null, the log says/],
    ['another count of submissions', 'traces', 'submission_count = 0', /submission_count is 0, the log has submission 1/],
  ])('`ledger verify` names a row with %s', async (_, table, set, finding) => {
    const { body } = await send('run-1');
    await sql(`UPDATE countersign.${table} SET ${set} WHERE tenant_id = $1`, [tenantId]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringMatching(finding)]);
    expect(out).toContain(`the row ${(body as { id: string }).id}, submission 1 differs from the log`);
  });

  test.each([
    ['outcome', `outcome = 'success'`, /the column outcome is "success", its documents say "failure"/],
    ['outcome_rank', 'outcome_rank = 1', /the column outcome_rank is 1, its documents say 3/],
    ['session_id', `session_id = 's-2'`, /the column session_id is "s-2", its documents say "s-1"/],
    ['external_user_id', 'external_user_id = NULL', /the column external_user_id is null, its documents say "u-1"/],
    ['latency_ms', 'latency_ms = 1', /the column latency_ms is 1, its documents say 900/],
    ['has_error', 'has_error = false', /the column has_error is false, its documents say true/],
    ['started_at', `started_at = started_at - interval '1 microsecond'`, /the column started_at is .*, its documents say/],
    ['ended_at', 'ended_at = NULL', /the column ended_at is null, its documents say/],
    ['total_tokens', 'total_tokens = 1', /the column total_tokens is 1, its documents say 12/],
    ['supplied_total_tokens', 'supplied_total_tokens = 1', /the column supplied_total_tokens is 1, its documents say null/],
    ['cost_usd', 'cost_usd = 0', /the column cost_usd is "0", its documents say "0.3"/],
    ['span_count', 'span_count = 1', /the column span_count is 1, its documents say 2/],
    ['received_at', `received_at = received_at + interval '1 hour'`, /the column received_at is .*, its documents say/],
    ['last_span_at', 'last_span_at = received_at', /the column last_span_at is .*, its documents say null/],
    ['agent_rank', 'agent_rank = 0', /the column agent_rank is 0, its documents say 4/],
    [
      'provisional_agent_name',
      `provisional_agent_name = 'x'`,
      /the column provisional_agent_name is "x", its documents say null/,
    ],
  ])('`ledger verify` names the column %s when it differs from the documents', async (_, set, finding) => {
    const { body } = await send('run-1', DETAILS);
    await send('run-2', DETAILS);
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 2 entries/)]);
    await sql(`UPDATE countersign.traces SET ${set} WHERE tenant_id = $1 AND trace_id = 'run-1'`, [tenantId]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringMatching(finding)]);
    expect(out).toContain(`the table traces: the row ${(body as { id: string }).id} differs from the log`);
  });

  test('`ledger verify` also names rows after the first page: the 101st trace and the 51st submission', async () => {
    const traces = await Promise.all(Array.from({ length: 101 }, (_, index) => send(`run-${index}`)));
    const ids = traces.map(({ body }) => (body as { id: string }).id).sort();
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: \d+ entries/)]);
    await sql('UPDATE countersign.traces SET latency_ms = 7 WHERE id = $1', [ids.at(-1)]);
    const expectedFinding = `the table traces: the row ${ids.at(-1)} differs from the log: the column latency_ms is 7, its documents say null`;
    expect(await verify()).toEqual([1, expect.stringContaining(expectedFinding)]);
    await sql('UPDATE countersign.traces SET latency_ms = NULL WHERE id = $1', [ids.at(-1)]);

    for (let number = 2; number <= 51; number += 1) await send(`run-0`, { detail: String(number) });
    const { id } = traces[0]!.body as { id: string };
    expect((await verify())[0]).toBe(0);
    await sql(`UPDATE countersign.trace_submissions SET spans = '[1]' WHERE trace = $1 AND number = 51`, [id]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringContaining(`the row ${id}, submission 51 differs from the log`)]);
    expect(out).toContain('the column spans differs from its document');
  });

  test('`ledger verify` names a submission whose column spans was changed', async () => {
    const { body } = await send('run-1', DETAILS);
    const { id } = body as { id: string };
    const replaceInSpans = (model: string, other: string) =>
      sql(`UPDATE countersign.trace_submissions SET spans = replace(spans, $2, $3) WHERE tenant_id = $1`, [
        tenantId,
        model,
        other,
      ]);
    await replaceInSpans('gpt-a', 'gpt-b');
    expect(await verify()).toEqual([1, expect.stringContaining(`${id}, submission 1 differs from the log: the column spans`)]);
    await replaceInSpans('gpt-b', 'gpt-a');
    expect((await verify())[0]).toBe(0);
  });

  test.each(['3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24', LOWEST_ID, HIGHEST_ID])(
    '`ledger verify` names an inserted trace with the ID %s',
    async (id) => {
      await send('run-1', DETAILS);
      await sql(
        `INSERT INTO countersign.traces SELECT (jsonb_populate_record(t, jsonb_build_object('id', $2::uuid, 'trace_id', 'run-2'))).*
         FROM countersign.traces AS t WHERE tenant_id = $1`,
        [tenantId, id],
      );
      expect(await verify()).toEqual([
        1,
        expect.stringContaining(
          `the row ${id} differs from the log: none of its submissions is stored, so the row was added outside the server`,
        ),
      ]);
    },
  );

  test('`ledger verify` accepts columns computed from several native and OpenTelemetry documents', async () => {
    await send('run-1', DETAILS);
    await send('run-1', { outcome: undefined, spans: [{ span_id: 'a', kind: 'tool', name: 'again', cost_usd: 1e-7 }] });
    await send('run-1', { prompt_tokens: 3, completion_tokens: 4, session_id: 's-2' });
    const exporting = exporter(server, key);
    const [piece, root] = chatRun(OTLP_TRACE);
    for (const span of [piece!, root!, { ...piece!, status: { code: 2, message: 'failed' } }])
      expect((await exporting.sendJson(jsonExport([span], { 'service.name': 'shop' }))).status).toBe(200);
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 6 entries/)]);
    await send(OTLP_TRACE, { agent_name: 'otlp-bot' });
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 7 entries/)]);
    await sql(`UPDATE countersign.traces SET total_tokens = 1 WHERE tenant_id = $1 AND trace_id = $2`, [tenantId, OTLP_TRACE]);
    expect(await verify()).toEqual([1, expect.stringMatching(/the column total_tokens is 1, its documents say/)]);
  });

  const step = (more: object) => ({ span_id: 'a', kind: 'llm', name: 'one', ...more });
  test.each([
    ['a step taken from an older submission', 'merged_spans', 'submission = 1', /the steps of this trace differ/],
    ['a step of an unknown submission', 'merged_spans', 'submission = 9', /the steps of this trace differ/],
    ['changed tokens of a step', 'merged_spans', 'prompt_tokens = 1', /the steps of this trace differ/],
    ['changed cost of a step', 'merged_spans', 'cost_usd = NULL', /the steps of this trace differ/],
    ['a changed sum over the steps', 'merged_traces', 'prompt_tokens = 1', /the sums of this trace differ/],
    [
      'a changed count of steps that report tokens',
      'merged_traces',
      'prompt_tokens_reported = 2',
      /the sums of this trace differ/,
    ],
  ])('`ledger verify` names a row with %s', async (_, table, set, finding) => {
    const { body } = await send('run-1', { spans: [step({ prompt_tokens: 5, cost_usd: 0.25 })] });
    await send('run-1', { spans: [step({ prompt_tokens: 7, cost_usd: 1e-7 }), step({ span_id: 'b ü "\\' })] });
    await send('run-2', { spans: [step({})] });
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 3 entries/)]);
    const ofStep = table === 'merged_spans' ? `AND span_id = 'a'` : '';
    await sql(`UPDATE countersign.${table} SET ${set} WHERE tenant_id = $1 ${ofStep}`, [tenantId]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringMatching(finding)]);
    expect(out).toContain(`the table ${table}: the row ${(body as { id: string }).id} differs from the log`);
  });

  test('`ledger verify` names inserted steps of a trace with one submission, and deleted steps with and without their sums', async () => {
    const { body } = await send('run-1', { spans: [step({})] });
    await sql(`INSERT INTO countersign.merged_spans (tenant_id, trace, span_id, submission) VALUES ($1, $2, 'a', 2)`, [
      tenantId,
      (body as { id: string }).id,
    ]);
    expect(await verify()).toEqual([1, expect.stringMatching(/the steps of this trace differ/)]);
    await sql('DELETE FROM countersign.merged_spans WHERE tenant_id = $1', [tenantId]);
    await send('run-1', { spans: [step({})] });
    expect((await verify())[0]).toBe(0);
    await sql('DELETE FROM countersign.merged_spans WHERE tenant_id = $1', [tenantId]);
    expect(await verify()).toEqual([1, expect.stringMatching(/the steps of this trace differ/)]);
    await sql('DELETE FROM countersign.merged_traces WHERE tenant_id = $1', [tenantId]);
    expect(await verify()).toEqual([1, expect.stringMatching(/the steps of this trace differ/)]);
  });

  const agentIdQuery = (name: string) => `(SELECT id FROM countersign.agents WHERE tenant_id = $1 AND name = '${name}')`;
  test.each([
    ['another agent', agentIdQuery('other')],
    ['no agent', 'NULL'],
  ])(
    '`ledger verify` reports a row that had %s when a submission without an agent arrived, even after the agent is restored',
    async (_, id) => {
      await send('run-0', { agent_name: 'other' });
      await send('run-1');
      const setAgent = (to: string) =>
        sql(`UPDATE countersign.traces SET agent_id = ${to} WHERE tenant_id = $1 AND trace_id = 'run-1'`, [tenantId]);
      await setAgent(id);
      expect((await send('run-1', { agent_name: undefined })).status).toBe(200);
      expect(await verify()).toEqual([1, expect.stringMatching(/agent_id is .*, its documents name /)]);
      await setAgent(agentIdQuery('bot'));
      expect(await verify()).toEqual([1, expect.stringMatching(/submission 2 differs from the log: agent_id is/)]);
      expect((await send('run-1')).status).toBe(200);
      expect(await verify()).toEqual([1, expect.stringMatching(/submission 2 differs .*agent_id was .* when this submission/)]);
    },
  );

  test('`ledger verify` accepts an agent that a later submission names or OpenTelemetry corrects', async () => {
    await send('run-1', { agent_name: undefined });
    await send('run-1');
    const [agent] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE tenant_id = $1', [
      tenantId,
    ]);
    await send('run-1', { agent_name: undefined, agent_id: agent!.id.toUpperCase() });
    const exporting = exporter(server, key);
    const [piece, root] = chatRun(OTLP_TRACE);
    for (const span of [piece!, root!]) await exporting.sendJson(jsonExport([span], { 'service.name': 'shop' }));
    await send(OTLP_TRACE, { agent_name: 'otlp-bot' });
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid: 6 entries/)]);
  });

  test('the server reports a changed row once in its log, and in /readyz, a metric and the portal until the row is restored', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    // A separate database: otherwise every verification would include the workspaces of the other tests.
    const watchingServer = await testServer({ checkpointSeconds: undefined, log });
    const watchedId = await watchingServer.workspace();
    const watchedKey = await watchingServer.key(watchedId, ['telemetry']);
    const record = async (trace_id: string): Promise<string> =>
      (await watchingServer.post(paths.traces, watchedKey, { trace_id, agent_name: 'bot', outcome: 'failure', ...DETAILS })).body
        .id;
    const [id, other] = [await record('run-1'), await record('run-2')];
    const viewer = await portalClient(watchingServer, watchedId, 'viewer');
    const rowsOfRun = async (trace: string) => (await viewer.getResult('runs.trace', { params: { trace } })).differing_rows;
    const readReports = async () => {
      await watchingServer.verifyLogs();
      const { warnings = [] } = (await (await fetch(`${watchingServer.url}/readyz`)).json()) as { warnings?: string[] };
      const metrics = await (await fetch(`${watchingServer.url}/metrics`)).text();
      const metric = /^countersign_trace_findings (\d+)$/m.exec(metrics)?.[1];
      return {
        metric,
        warnings: warnings.filter((warning) => warning.includes('(traces)')),
        overview: (await viewer.getResult('overview.read')).differing_rows,
        ofRun: await rowsOfRun(id),
        ofOtherRun: await rowsOfRun(other),
      };
    };
    const before = await readReports();
    const setTokens = (tokens: number) =>
      watchingServer.database.sql('UPDATE countersign.traces SET total_tokens = $2 WHERE id = $1', [id, tokens]);
    await setTokens(1);
    const afterChange = await readReports();
    await readReports();
    expect([before.metric, before.warnings, afterChange.metric, afterChange.warnings.length]).toEqual(['0', [], '1', 1]);
    const row = { table: 'traces', id, fault: 'the column total_tokens is 1, its documents say 12' };
    expect(before).toMatchObject({ overview: [], ofRun: [], ofOtherRun: [] });
    expect(afterChange).toMatchObject({ overview: [row], ofRun: [row], ofOtherRun: [] });
    expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ ...row, tenantId: watchedId, level: 50 })]);
    await setTokens(12);
    expect(await readReports()).toEqual(before);
    await watchingServer.stop();
  });

  test('verifyTraces returns at most 20 findings, even if the log itself is not valid', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, index) => send(`run-${index}`)));
    await sql('UPDATE countersign.trace_submissions SET recorded_by = $1 WHERE tenant_id = $2', ['operator', tenantId]);
    expect((await verifyTraces(server.open.pool, tenantId)).findings).toHaveLength(20);
    await sql(`UPDATE countersign.log_heads SET seq = seq + 1 WHERE tenant_id = $1 AND log = 'traces'`, [tenantId]);
    const { findings, firstBad, contradiction } = await verifyTraces(server.open.pool, tenantId);
    expect(firstBad ?? contradiction).toBeDefined();
    expect(findings).toHaveLength(20);
  });

  test('`ledger verify` names a deleted submission and an added one', async () => {
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
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid/)]);
    await sql('DELETE FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2', [
      tenantId,
      (body as { id: string }).id,
    ]);
    expect(await verify()).toEqual([1, expect.stringMatching(/submission 1 differs from the log: the row is gone/)]);
  });

  test('the server stores no trace after the events were deleted and the head was reset', async () => {
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
