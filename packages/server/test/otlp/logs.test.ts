import type { SpanRow } from '@countersign/core/portal/run-routes';
import pg from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { rowsWithRecords } from '../../src/portal/run-log-records.ts';
import { joinRecordsOfStoredTraces } from '../../src/storage/log-records.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { type Exporter, exporter } from './sending.ts';
import { chatRun, id, jsonExport, newTrace, pairs } from './test-exports.ts';

let server: TestServer;
let workspace: string;
let viewer: PortalClient;
let sendJson: Exporter['sendJson'];

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  viewer = await portalClient(server, workspace, 'viewer');
  ({ sendJson } = exporter(server, await server.key(workspace)));
});

interface TestLog {
  traceId: string;
  eventName: string;
  spanId?: string;
  attributes?: Record<string, unknown>;
  body?: Record<string, unknown>;
  offsetNanos?: number;
}

const logs = (...records: TestLog[]) => ({
  resourceLogs: [
    {
      scopeLogs: [
        {
          logRecords: records.map(({ attributes = {}, body, offsetNanos = 0, ...record }) => ({
            spanId: id(2),
            ...record,
            timeUnixNano: String(1_700_000_000_000_000_000n + BigInt(offsetNanos)),
            attributes: pairs(attributes),
            ...(body === undefined ? {} : { body: { kvlistValue: { values: pairs(body) } } }),
          })),
        },
      ],
    },
  ],
});
const conversation = (traceId: string) =>
  logs(
    {
      traceId,
      eventName: 'gen_ai.choice',
      offsetNanos: 2000,
      body: { index: 0, message: { role: 'assistant', content: 'Fine.' } },
    },
    { traceId, eventName: 'gen_ai.user.message', offsetNanos: 1000, body: { content: 'How are you?' } },
  );
const MESSAGES = [
  { role: 'user', content: 'How are you?' },
  { role: 'assistant', content: 'Fine.' },
];

/** A run whose chat span has no messages. */
const runWithoutMessages = (traceId: string) => {
  const [chat, root] = chatRun(traceId);
  const attributes = Object.entries(chat!.attributes!).filter(([name]) => !name.endsWith('messages'));
  return jsonExport([{ ...chat!, attributes: Object.fromEntries(attributes) }, root!]);
};
const postLogs = async (body: unknown) => {
  const { status, bytes } = await sendJson(body, '/v1/logs');
  expect(status).toBe(200);
  return JSON.parse(bytes.toString());
};
/** The ID of a run in the portal. */
const portalIdOf = async (traceId: string) => (await viewer.getResult('runs.list', { query: { text: traceId } })).items[0]!.id;
const payloadOf = async (traceId: string) =>
  (await viewer.getResult('runs.span', { params: { trace: await portalIdOf(traceId) }, query: { span_id: id(2) } })).payload;

describe('POST /v1/logs', () => {
  test('adds a conversation in log records to its span in any order of arrival', async () => {
    const [spansFirst, logsFirst] = [newTrace(), newTrace()];
    await sendJson(runWithoutMessages(spansFirst));
    expect(await postLogs(conversation(spansFirst))).toEqual({});
    expect(await postLogs(conversation(logsFirst))).toEqual({});
    await sendJson(runWithoutMessages(logsFirst));
    for (const traceId of [spansFirst, logsFirst]) {
      expect((await payloadOf(traceId)).messages).toEqual(MESSAGES);
      const { items } = await viewer.getResult('runs.spans', { params: { trace: await portalIdOf(traceId) } });
      expect(items.find(({ span_id }) => span_id === id(2))).toMatchObject({ has_payload: true, status: 'success' });
    }
    const waiting = await server.database.sql('SELECT trace_id FROM countersign.log_records WHERE NOT joined');
    expect(waiting).toEqual([]);
  });

  test('joinRecordsOfStoredTraces, a step of housekeeping, joins log records to a run of /api/public/traces', async () => {
    const traceId = newTrace();
    await postLogs(logs({ traceId, eventName: 'exception', attributes: { 'exception.message': 'rate limit' } }));
    const key = await server.key(workspace);
    const trace = {
      trace_id: traceId,
      agent_name: 'bot',
      outcome: 'success',
      spans: [{ span_id: id(2), kind: 'llm', name: 'chat' }],
    };
    expect((await server.post(paths.traces, key, trace)).status).toBe(200);
    await inTenantTransaction(server.open.pool, workspace, joinRecordsOfStoredTraces);
    const stored = await server.database.sql(
      `SELECT has_error, joined FROM countersign.traces JOIN countersign.log_records USING (tenant_id, trace_id)
        WHERE tenant_id = $1 AND trace_id = $2`,
      [workspace, traceId],
    );
    expect(stored).toEqual([{ has_error: true, joined: true }]);
  });

  test('messages in attributes of a span take precedence over log records, which take precedence over events of the span', async () => {
    const [attributes, events] = [newTrace(), newTrace()];
    await sendJson(jsonExport(chatRun(attributes)));
    await postLogs(conversation(attributes));
    expect((await payloadOf(attributes)).messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ]);
    const run = runWithoutMessages(events);
    const chat = run.resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
    chat.events = [{ name: 'gen_ai.user.message', attributes: pairs({ content: 'from an event' }) }] as never;
    await sendJson(run);
    expect((await payloadOf(events)).messages).toEqual([{ role: 'user', content: 'from an event' }]);
    await postLogs(conversation(events));
    expect((await payloadOf(events)).messages).toEqual(MESSAGES);
  });

  test('shows messages once if a later export repeats their log records', async () => {
    const traceId = newTrace();
    await sendJson(runWithoutMessages(traceId));
    const { resourceLogs } = conversation(traceId);
    await postLogs({ resourceLogs });
    await postLogs({ resourceLogs: [...resourceLogs, ...logs({ traceId, eventName: 'log.other' }).resourceLogs] });
    expect((await payloadOf(traceId)).messages).toHaveLength(2);
  });

  test('an exception in a log record becomes the error of its span', async () => {
    const traceId = newTrace();
    await sendJson(runWithoutMessages(traceId));
    await postLogs(logs({ traceId, eventName: 'exception', attributes: { 'exception.message': 'rate limit' } }));
    const { items } = await viewer.getResult('runs.spans', { params: { trace: await portalIdOf(traceId) } });
    expect(items.find(({ span_id }) => span_id === id(2))).toMatchObject({ status: 'error', error: 'rate limit' });
    expect((await payloadOf(traceId)).error).toBe('rate limit');
  });

  test('of several exceptions in log records, the earliest becomes the error of the span in the list and on its page', async () => {
    const traceId = newTrace();
    await sendJson(runWithoutMessages(traceId));
    const exception = (message: string, offsetNanos: number): TestLog => ({
      ...{ traceId, eventName: 'exception', offsetNanos },
      attributes: { 'exception.message': message },
    });
    await postLogs(logs(exception('a later timeout', 2000), exception('rate limit', 1000), exception('another', 3000)));
    const { items } = await viewer.getResult('runs.spans', { params: { trace: await portalIdOf(traceId) } });
    expect(items.find(({ span_id }) => span_id === id(2))).toMatchObject({ status: 'error', error: 'rate limit' });
    expect((await payloadOf(traceId)).error).toBe('rate limit');
  });

  test.each([
    ['contains U+0000', 'bad \u0000 byte "\\u0000"', 'bad \u0000 byte "\\u0000"'],
    ['is empty', '', ''],
    ['is longer than 2,000 characters', `\u0001${'\u{1f600}'.repeat(13_000)}`, `\u0001${'\u{1f600}'.repeat(1_999)}`],
  ])(
    'the list of steps shows at most 2,000 characters of an exception message that %s, and the step itself shows the whole message',
    async (_, message, listedError) => {
      const traceId = newTrace();
      await sendJson(runWithoutMessages(traceId));
      await postLogs(logs({ traceId, eventName: 'exception', attributes: { 'exception.message': message } }));
      const { items } = await viewer.getResult('runs.spans', { params: { trace: await portalIdOf(traceId) } });
      expect(items.find(({ span_id }) => span_id === id(2))).toMatchObject({ status: 'error', error: listedError });
      expect((await payloadOf(traceId)).error).toBe(message);
    },
  );

  test.each([
    [2_000, false],
    [2_001, true],
  ])('a step that has only an exception of %i characters can be opened: %s', (length, has_payload) => {
    const row = { span_id: 's', status: 'success', error: null, has_payload: false } as SpanRow;
    const exception = JSON.stringify({ error: 'x'.repeat(length) });
    expect(rowsWithRecords([row], [{ span_id: 's', has_content: false, exception }])).toMatchObject([
      { status: 'error', error: 'x'.repeat(2_000), has_payload },
    ]);
  });

  test('an exception in a log record counts as an error of its run in lists and totals, in any order of arrival', async () => {
    const tenant = await server.workspace();
    const other = exporter(server, await server.key(tenant));
    const reader = await portalClient(server, tenant, 'viewer');
    const [spansFirst, logsFirst, together, withoutException] = [newTrace(), newTrace(), newTrace(), newTrace()];
    const send = async (body: unknown, path?: string) => expect((await other.sendJson(body, path)).status).toBe(200);
    const exception = (traceId: string) =>
      logs({ traceId, eventName: 'exception', attributes: { 'exception.message': 'rate limit' } });
    await send(runWithoutMessages(spansFirst));
    await send(exception(spansFirst), '/v1/logs');
    await send(exception(logsFirst), '/v1/logs');
    await send(runWithoutMessages(logsFirst));
    await send(runWithoutMessages(withoutException));
    await send(conversation(withoutException), '/v1/logs');
    await Promise.all([send(exception(together), '/v1/logs'), send(runWithoutMessages(together))]);
    const { items } = await reader.getResult('runs.list', {});
    expect(
      items
        .filter(({ has_error }) => has_error)
        .map(({ trace_id }) => trace_id)
        .sort(),
    ).toEqual([spansFirst, logsFirst, together].sort());
    const { days } = await reader.getResult('overview.usage', {});
    expect(days.at(-1)).toMatchObject({ runs: 4, errors: 3 });
  });

  test.each(['log record', 'span'] as const)(
    'an exception and its run are joined when they are written concurrently, the %s first',
    async (first) => {
      const traceId = newTrace();
      const send = {
        span: () => sendJson(runWithoutMessages(traceId)),
        'log record': () =>
          sendJson(logs({ traceId, eventName: 'exception', attributes: { 'exception.message': 'rate limit' } }), '/v1/logs'),
      };
      // With this lock, both transactions write their rows and then wait, so neither commits before the other has written.
      const blocker = new pg.Client({ ...inject('cluster').superuser, database: server.database.server.database });
      await blocker.connect();
      await blocker.query('BEGIN; LOCK TABLE countersign.idempotency_keys IN SHARE MODE');
      const second = first === 'span' ? 'log record' : 'span';
      const responses = [send[first]()];
      await waitForBlockedStatements(server.database);
      responses.push(send[second]());
      await waitForBlockedStatements(server.database, 2);
      await blocker.query('ROLLBACK');
      await blocker.end();
      expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200]);
      const { items } = await viewer.getResult('runs.list', { query: { text: traceId } });
      expect(items).toMatchObject([{ has_error: true }]);
    },
  );

  test('shows findings with their run and stores no evaluation', async () => {
    const traceId = newTrace();
    const finding = {
      'gen_ai.evaluation.name': 'relevance',
      'gen_ai.evaluation.score.value': 0.75,
      'gen_ai.evaluation.score.label': 'good',
      'gen_ai.evaluation.explanation': 'It answers the question.',
    };
    const run = runWithoutMessages(traceId);
    const chat = run.resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
    chat.events = [
      { name: 'gen_ai.evaluation.result', attributes: pairs({ ...finding, 'gen_ai.evaluation.name': 'tone' }) },
    ] as never;
    await sendJson(run);
    await postLogs(logs({ traceId, eventName: 'gen_ai.evaluation.result', attributes: finding }));
    const { findings } = await viewer.getResult('runs.trace', { params: { trace: await portalIdOf(traceId) } });
    const shown = { span_id: id(2), score: 0.75, label: 'good', explanation: 'It answers the question.' };
    expect(findings).toHaveLength(2);
    expect(findings).toMatchObject([
      { ...shown, name: 'relevance' },
      { ...shown, name: 'tone' },
    ]);
    expect(await server.database.sql('SELECT id FROM countersign.evaluations')).toEqual([]);
  });

  test('reports log records of unknown events and log records without a span as rejected', async () => {
    const traceId = newTrace();
    const response = await postLogs(
      logs({ traceId, eventName: 'http.request' }, { traceId, spanId: '', eventName: 'gen_ai.user.message' }),
    );
    expect(response.partialSuccess).toMatchObject({ rejectedLogRecords: '2' });
  });

  test('says that the stored body of an export also contains the log records that are not added to runs', async () => {
    const traceId = newTrace();
    const ordinary = logs({ traceId, eventName: 'http.request', body: { text: `ordinary ${traceId}` } });
    const { resourceLogs } = conversation(traceId);
    const { partialSuccess } = await postLogs({ resourceLogs: [...ordinary.resourceLogs, ...resourceLogs] });
    expect(partialSuccess).toMatchObject({
      rejectedLogRecords: '1',
      errorMessage: expect.stringMatching(/its stored body also contains the other log records/),
    });
    const stored = await server.database.sql('SELECT body FROM countersign.otlp_exports ORDER BY id DESC LIMIT 1');
    expect(stored[0]!.body.toString()).toContain(`ordinary ${traceId}`);
  });

  test('shows the type of an exception in a log record if the exception has an empty message', async () => {
    const traceId = newTrace();
    await sendJson(runWithoutMessages(traceId));
    const attributes = { 'exception.message': '', 'exception.type': 'Timeout' };
    await postLogs(logs({ traceId, eventName: 'exception', attributes }));
    expect((await payloadOf(traceId)).error).toBe('Timeout');
  });

  test('rejects further log records of a workspace in which 10,000 wait for their spans', async () => {
    const tenant = await server.workspace();
    const other = exporter(server, await server.key(tenant));
    await server.database.sql(
      `INSERT INTO countersign.log_records (tenant_id, trace_id, span_id, sha256, kind, place, received_at, recorded_by, document, joined)
       SELECT $1, 'x', n::text, sha256(n::text::bytea), 'content', 0, clock_timestamp(), 'key:0', '{}', false FROM generate_series(1, 9999) AS n`,
      [tenant],
    );
    const { bytes } = await other.sendJson(conversation(newTrace()), '/v1/logs');
    const { partialSuccess } = JSON.parse(bytes.toString());
    expect(partialSuccess.rejectedLogRecords).toBe('1');
    expect(partialSuccess.errorMessage).toMatch(/wait for spans/);
  });
});
