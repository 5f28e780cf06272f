import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { mergeRunIdSegments } from '../../src/storage/run-id-segments.ts';
import { insertManyRecords } from '../fixtures/many-records.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
});

/** Sends a trace and returns its ID. */
const sendTrace = async (body: object): Promise<string> => {
  const { status, body: response } = await server.post(paths.traces, key, body);
  expect(status).toBe(200);
  return response.id;
};
const sendTelemetry = async (...events: object[]) =>
  expect((await server.post(paths.telemetry, key, { events })).status).toBe(200);
const list = async (query: Record<string, string> = {}) => (await viewer.getResult('runs.list', { query })).items;
const traceIds = async (query: Record<string, string>) => (await list(query)).map(({ trace_id }) => trace_id);

describe('the list of runs', () => {
  beforeAll(async () => {
    await sendTrace({
      trace_id: 'list-1',
      agent_name: 'clerk',
      session_id: 'monday',
      cost_usd: 0.1,
      spans: [{ span_id: 'a', kind: 'llm', name: 'n', total_tokens: 7 }],
    });
    await sendTelemetry(
      { trace_id: 'list-2', outcome: 'success', agent_name: 'clerk', model: 'm-1', tool_count: 2, session_id: 'monday' },
      { trace_id: 'list-3', outcome: 'odd', agent_name: 'Other Clerk' },
    );
    await sendTrace({ trace_id: 'list-4', outcome: 'failure', error: 'broke' });
    await sendTrace({ trace_id: 'list-5', outcome: 'failure', agent_name: 'clerk' });
  });

  test('contains traces and telemetry events, newest first, each with its reported values', async () => {
    const runs = await list({ text: 'list-' });
    expect(runs.map(({ trace_id, source }) => [trace_id, source])).toEqual([
      ['list-5', 'trace'],
      ['list-4', 'trace'],
      ['list-3', 'telemetry'],
      ['list-2', 'telemetry'],
      ['list-1', 'trace'],
    ]);
    expect(runs[1]).toMatchObject({ outcome: 'failure', has_error: true, agent: null, ordinal: null, total_tokens: null });
    expect(runs[3]).toMatchObject({ ordinal: 0, model: 'm-1', tool_count: 2, span_count: null, agent: { name: 'clerk' } });
    expect(runs[4]).toMatchObject({ total_tokens: 7, cost_usd: '0.1', span_count: 1, session_id: 'monday' });
  });

  test('filters by source, agent, outcome, session and text, alone and combined', async () => {
    const clerk = (await list({ text: 'list-1' }))[0]!.agent!.id;
    expect(await traceIds({ source: 'telemetry', text: 'list-' })).toEqual(['list-3', 'list-2']);
    expect(await traceIds({ agent_id: clerk.toUpperCase() })).toEqual(['list-5', 'list-2', 'list-1']);
    expect(await traceIds({ outcome: 'failure', text: 'list-' })).toEqual(['list-5', 'list-4']);
    expect(await traceIds({ outcome: 'odd' })).toEqual(['list-3']);
    expect(await traceIds({ outcome: 'success', text: 'list-' })).toEqual(['list-2', 'list-1']);
    expect(await traceIds({ session_id: 'monday' })).toEqual(['list-2', 'list-1']);
    expect(await traceIds({ text: 'monday' })).toEqual(['list-2', 'list-1']);
    expect(await traceIds({ text: 'other cl' })).toEqual(['list-3']);
    expect(await traceIds({ text: 'ist-1' })).toEqual(['list-1']);
    expect(await traceIds({ text: 'ist-', session_id: 'monday' })).toEqual(['list-2', 'list-1']);
    expect(await traceIds({ text: 'clerk', agent_id: clerk })).toEqual(['list-5', 'list-2', 'list-1']);
    expect(await traceIds({ source: 'trace', agent_id: clerk, outcome: 'failure', text: 'list-5' })).toEqual(['list-5']);
    expect(await traceIds({ agent_id: clerk, session_id: 'tuesday' })).toEqual([]);
  });

  test('filters by a range of time that includes its start and excludes its end', async () => {
    const at = new Map((await list({ text: 'list-' })).map((run) => [run.trace_id, run.received_at]));
    expect(await traceIds({ from: at.get('list-4')!, text: 'list-' })).toEqual(expect.arrayContaining(['list-5', 'list-4']));
    expect(await traceIds({ to: at.get('list-1')!, text: 'list-1' })).toEqual([]);
    const justAfter = at.get('list-1')!.replace('Z', '001Z');
    expect(await traceIds({ from: justAfter, text: 'list-1' })).toEqual([]);
    expect(await traceIds({ to: justAfter, text: 'list-1' })).toEqual(['list-1']);
    expect(await traceIds({ from: '9999-01-01T00:00:00+14:00' })).toEqual([]);
    expect(await traceIds({ to: '0001-01-01T00:00:00' })).toEqual([]);
    expect(await traceIds({ from: '2020-01-01T00:00:00', to: '9998-01-01T00:00:00Z', text: 'list-5' })).toEqual(['list-5']);
  });

  test('returns each trace and telemetry event once and in order over all pages', async () => {
    for (let number = 0; number < 4; number += 1) {
      await sendTrace({ trace_id: `page-${number}-trace` });
      await sendTelemetry(
        { trace_id: `page-${number}-a`, outcome: 'x' },
        { trace_id: `page-${number}-b`, outcome: 'x' },
        { trace_id: `page-${number}-c`, outcome: 'x' },
      );
    }
    const allRuns = (await list({ text: 'page-', limit: '200' })).map(({ id, ordinal }) => `${id}.${ordinal}`);
    expect(allRuns).toHaveLength(16);
    for (const limit of ['1', '3', '5', '16']) {
      const listed: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: Record<string, string> = { text: 'page-', limit, ...(cursor === '' ? {} : { cursor }) };
        const page = await viewer.getResult('runs.list', { query });
        listed.push(...page.items.map(({ id, ordinal }) => `${id}.${ordinal}`));
        cursor = page.next;
      }
      expect([limit, listed]).toEqual([limit, allRuns]);
    }
  });

  test('finds a run by any part of its ID in any letter case; wildcards match literally', async () => {
    const unusualIds = ['🦉-1', '🦉', '\u{10ffff}a', '\ud7ffx', 'A%b', 'A_b', 'Ünï-Code'];
    for (const trace_id of unusualIds) await sendTrace({ trace_id });
    await sendTelemetry({ trace_id: 'In-The-MIDDLE-Of', outcome: 'x' });
    for (const trace_id of unusualIds) expect(await traceIds({ text: trace_id })).toContain(trace_id);
    expect(await traceIds({ text: '🦉' })).toEqual(['🦉', '🦉-1']);
    expect(await traceIds({ text: 'a%' })).toEqual(['A%b']);
    expect(await traceIds({ text: '_B' })).toEqual(['A_b']);
    expect(await traceIds({ text: 'NÏ-C' })).toEqual(['Ünï-Code']);
    expect(await traceIds({ text: 'the-middle' })).toEqual(['In-The-MIDDLE-Of']);
    expect(await traceIds({ text: 'the-middle', source: 'trace' })).toEqual([]);
  });
});

/** The trace_ids of all pages of the list, or of its first pages until they have at least `runsWanted` runs. */
async function listTraceIds(
  reader: PortalClient,
  filter: Record<string, string>,
  runsWanted = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const listed: string[] = [];
  for (let cursor: string | null = ''; cursor !== null && listed.length < runsWanted; ) {
    const query: Record<string, string> = { ...filter, limit: '200', ...(cursor === '' ? {} : { cursor }) };
    const page = await reader.getResult('runs.list', { query });
    listed.push(...page.items.map(({ trace_id }) => trace_id));
    cursor = page.next;
  }
  return listed;
}

describe('the search by a part of the ID', () => {
  const readRunCounts = async (id: string) =>
    (
      await server.database.sql<{ run_count: number }>(
        `SELECT run_count FROM countersign.run_id_segments WHERE tenant_id = $1 ORDER BY source, last_run`,
        [id],
      )
    ).map(({ run_count }) => run_count);

  test('finds the same runs in the same order before and after segments are merged', async () => {
    const otherWorkspace = await server.workspace();
    const sender = await server.key(otherWorkspace);
    for (let number = 0; number < 40; number += 1) {
      const events = Array.from({ length: 40 }, (_each, place) => ({ trace_id: `Merged-${number}-${place}`, outcome: 'x' }));
      await server.post(paths.telemetry, sender, { events });
      await server.post(paths.traces, sender, { trace_id: `Merged-${number}-trace` });
    }
    const reader = await portalClient(server, otherWorkspace, 'viewer');
    const search = (text: string) => listTraceIds(reader, { text });
    const texts = ['merged-', 'ED-7-', '-39', 'trace', 'nowhere'];
    const before = await Promise.all(texts.map(search));
    expect(before.map(({ length }) => length)).toEqual([40 * 41, 41, 39 + 41, 40, 0]);
    expect((await readRunCounts(otherWorkspace)).length).toBe(80);
    while (await inTenantTransaction(server.open.pool, otherWorkspace, mergeRunIdSegments));
    expect(await readRunCounts(otherWorkspace)).toEqual([520, 520, 520, 40, 40]);
    expect(await Promise.all(texts.map(search))).toEqual(before);
  });

  test('returns the newest matching runs in order over pages, even if more than 2,000 match', async () => {
    const otherWorkspace = await server.workspace();
    const rowCounts = {
      agents: 10,
      traces: 6000,
      telemetry: 3000,
      evaluations: 1,
      decisions: 1,
      entries: 1,
      approvals: 1,
      incidents: 1,
    };
    await insertManyRecords(server.database.sql, otherWorkspace, rowCounts);
    const reader = await portalClient(server, otherWorkspace, 'viewer');
    const queries: { text: string; outcome?: string; source?: string }[] = [
      { text: 'N-' },
      { text: 'un-1', outcome: 'failure' },
      { text: 'VENT-', source: 'telemetry' },
    ];
    for (const query of queries) {
      const listed = await listTraceIds(reader, query, 4000);
      const rows = await server.database.sql<{ trace_id: string }>(
        `SELECT trace_id FROM (SELECT id, 0 AS ordinal, trace_id, outcome FROM countersign.traces WHERE tenant_id = $1
           UNION ALL SELECT submission, ordinal, trace_id, outcome FROM countersign.telemetry_events WHERE tenant_id = $1) AS run
          WHERE strpos(trace_id, lower($2)) > 0 AND ($3::text IS NULL OR outcome = $3) ORDER BY id DESC, ordinal DESC`,
        [otherWorkspace, query.text, query.outcome ?? null],
      );
      expect(rows.length).toBeGreaterThan(15);
      expect(listed).toEqual(rows.slice(0, listed.length).map(({ trace_id }) => trace_id));
      expect(listed.length).toBeGreaterThanOrEqual(Math.min(4000, rows.length));
    }
  });
});

describe('one trace', () => {
  test('is merged from its submissions, and lists them and the telemetry events of the same run', async () => {
    const id = await sendTrace({ trace_id: 'merged', agent_name: 'clerk', detail: 'first', metadata: { a: 1 }, spans: [] });
    await sendTrace({ trace_id: 'merged', outcome: 'escalated', detail: 'second', error: 'late', latency_ms: 12 });
    await sendTrace({ trace_id: 'merged', cost_usd: 1.5, detail: null });
    await sendTelemetry({ trace_id: 'merged', outcome: 'done' }, { trace_id: 'another', outcome: 'done' });
    const read = await viewer.getResult('runs.trace', { params: { trace: id } });
    expect(read).toMatchObject({
      id,
      trace_id: 'merged',
      outcome: 'escalated',
      detail: 'second',
      error: 'late',
      metadata: { a: 1 },
      latency_ms: 12,
      cost_usd: '1.5',
      submission_count: 3,
      telemetry: [{ trace_id: 'merged', outcome: 'done', source: 'telemetry' }],
    });
    expect(read.submissions.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(read.submissions[0]).toMatchObject({ recorded_by: `key:${key.slice(8, 20)}` });
  });

  test('has the times that were sent, to the millisecond, even the earliest and the latest time that a date-time allows', async () => {
    const at = { started_at: '0001-01-01T00:00:00Z', ended_at: '9999-12-31T23:59:59.999999999Z' };
    const id = await sendTrace({ trace_id: 'limits', ...at, spans: [{ span_id: 'a', kind: 'llm', name: 'n', ...at }] });
    const expectedTimes = { started_at: '0001-01-01T00:00:00.000Z', ended_at: '9999-12-31T23:59:59.999Z' };
    expect(await viewer.getResult('runs.trace', { params: { trace: id } })).toMatchObject(expectedTimes);
    expect((await viewer.getResult('runs.spans', { params: { trace: id } })).items[0]).toMatchObject(expectedTimes);
  });

  test('returns a submission byte for byte, including numbers and escapes that JSON readers lose', async () => {
    const document = '{"trace_id":"bytes", "metadata":{"n":12345678901234567890,"s":"\\u0000\\ud800"},"spans":[] }';
    const { body } = await server.post(paths.traces, key, document);
    const { text, headers } = await viewer.download('runs.submission', { params: { trace: body.id, number: '1' } });
    expect(text).toBe(document);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="trace-${body.id}-1.json"`);
    expect((await viewer.callRoute('runs.submission', { params: { trace: body.id, number: '2' } })).status).toBe(404);
  });
});

describe('the steps of a trace', () => {
  const span = (span_id: string, more: object = {}) => ({ span_id, kind: 'llm', name: `step ${span_id}`, ...more });

  test('are merged, sorted by their last arrival, and returned with parent, usage, error and has_payload', async () => {
    const id = await sendTrace({
      trace_id: 'steps',
      spans: [
        span('root', { kind: 'agent' }),
        span('replaced', { parent_span_id: 'root', error: 'old' }),
        span('call', {
          parent_span_id: 'root',
          model: 'm',
          provider: 'p',
          prompt_tokens: 3,
          completion_tokens: 4,
          cost_usd: 0.25,
          latency_ms: 9,
          started_at: '2026-11-20T09:30:00.5Z',
          messages: [{ role: 'user', content: 'hello' }],
        }),
      ],
    });
    await sendTrace({
      trace_id: 'steps',
      spans: [span('replaced', { parent_span_id: 'call', error: 'x'.repeat(2500), status: 'error' })],
    });
    const { items, next } = await viewer.getResult('runs.spans', { params: { trace: id } });
    expect(next).toBeNull();
    expect(items.map(({ span_id, parent_span_id, position }) => [span_id, parent_span_id, position])).toEqual([
      ['root', null, 0],
      ['call', 'root', 1],
      ['replaced', 'call', 2],
    ]);
    expect(items[1]).toMatchObject({
      kind: 'llm',
      model: 'm',
      provider: 'p',
      total_tokens: 7,
      cost_usd: '0.25',
      latency_ms: 9,
      started_at: '2026-11-20T09:30:00.500Z',
      has_payload: true,
      error: null,
    });
    expect(items[2]).toMatchObject({ status: 'error', has_payload: true, error: 'x'.repeat(2000) });
  });

  test('have a payload that includes unknown members and omits members that are null', async () => {
    const sentMembers = {
      input: { q: [1, null] },
      output: 'text',
      messages: [
        { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] },
        { role: 'tool', content: 'r', tool_call_id: 'c' },
      ],
      tool_arguments: { city: 'Køge' },
      tool_result: false,
      error: 'boom',
      metadata: { k: 'v' },
    };
    const id = await sendTrace({
      trace_id: 'opened',
      spans: [span('other'), span('s/1 ?#', { ...sentMembers, temperature: 0.3, note: null })],
    });
    const { payload, submission } = await viewer.getResult('runs.span', { params: { trace: id }, query: { span_id: 's/1 ?#' } });
    expect(submission).toBe(1);
    expect(payload).toEqual({ ...sentMembers, others: { temperature: 0.3 } });
    expect((await viewer.getResult('runs.span', { params: { trace: id }, query: { span_id: 'other' } })).payload).toEqual({});
    expect((await viewer.callRoute('runs.span', { params: { trace: id }, query: { span_id: 'none' } })).status).toBe(404);
  });

  test('are returned over pages, each once, if there are more than a thousand', async () => {
    let id = '';
    for (let part = 0; part < 3; part += 1) {
      const spans = Array.from({ length: 500 }, (_, index) => span(`${part}-${String(index).padStart(3, '0')}`));
      id = await sendTrace({ trace_id: 'long', spans });
    }
    const first = await viewer.getResult('runs.spans', { params: { trace: id } });
    expect(first.items).toHaveLength(1000);
    const second = await viewer.getResult('runs.spans', { params: { trace: id }, query: { cursor: first.next! } });
    expect([second.items.length, second.next]).toEqual([500, null]);
    const all = [...first.items, ...second.items];
    expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index));
    expect(new Set(all.map(({ span_id }) => span_id)).size).toBe(1500);
  });

  test('are returned in pages of at most 8 MiB of documents, and the next page continues after the last step', async () => {
    const heavy = 'x'.repeat(3 * 1024 * 1024);
    let id = '';
    for (const part of ['a', 'b', 'c'])
      id = await sendTrace({ trace_id: 'heavy', spans: [span(part, { output: heavy }), span(`${part}2`)] });
    const first = await viewer.getResult('runs.spans', { params: { trace: id } });
    expect(first.items.map(({ span_id }) => span_id)).toEqual(['a', 'a2', 'b', 'b2']);
    const second = await viewer.getResult('runs.spans', { params: { trace: id }, query: { cursor: first.next! } });
    expect([second.items.map(({ span_id, position }) => [span_id, position]), second.next]).toEqual([
      [
        ['c', 4],
        ['c2', 5],
      ],
      null,
    ]);
  });
});

describe('one telemetry event', () => {
  test('returns everything that was sent, from a batch or alone, and links to the trace of the same run', async () => {
    const id = await sendTrace({ trace_id: 'both' });
    const sentMembers = { input: 1, output: [2], messages: [{ role: 'user', content: 'hi' }], metadata: { m: 1 } };
    await sendTelemetry(
      { trace_id: 'first', outcome: 'x' },
      {
        trace_id: 'both',
        outcome: 'fine',
        status: 'ok',
        provider: 'p',
        detail: 'why',
        latency_ms: 5,
        ...sentMembers,
        region: 'eu',
      },
    );
    const [run] = await list({ text: 'both', source: 'telemetry' });
    const params = { submission: run!.id, ordinal: String(run!.ordinal) };
    expect(await viewer.getResult('runs.event', { params })).toMatchObject({
      trace_id: 'both',
      ordinal: 1,
      status: 'ok',
      provider: 'p',
      detail: 'why',
      latency_ms: 5,
      trace: id,
      recorded_by: `key:${key.slice(8, 20)}`,
      payload: { ...sentMembers, others: { region: 'eu' } },
    });
    const { text } = await viewer.download('runs.event_submission', { params: { submission: run!.id } });
    expect(JSON.parse(text).events).toHaveLength(2);
    expect((await viewer.callRoute('runs.event', { params: { ...params, ordinal: '2' } })).status).toBe(404);
    await server.post(paths.telemetry, key, { trace_id: 'alone', outcome: 'x', detail: 'single' });
    const [alone] = await list({ text: 'alone' });
    expect(await viewer.getResult('runs.event', { params: { submission: alone!.id, ordinal: '0' } })).toMatchObject({
      detail: 'single',
      trace: null,
    });
  });
});
