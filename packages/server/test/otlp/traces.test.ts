import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { storedDocuments } from '../harness/stored-documents.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { type Exporter, exporter, PROTOBUF } from './sending.ts';
import { chatRun, id, jsonExport, newTrace, protobufExport } from './test-exports.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;
let send: Exporter['send'];
let sendJson: Exporter['sendJson'];

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
  ({ send, sendJson } = exporter(server, key));
});

/** The run with this trace ID, as the portal lists it. */
async function runOf(traceId: string) {
  const { items } = await viewer.getResult('runs.list', { query: { text: traceId } });
  return items[0]!;
}

describe('POST /v1/traces', () => {
  test('the warning about similar names covers all runs of an export, and names at most three agents', async () => {
    const other = await server.workspace();
    const { sendJson } = exporter(server, await server.key(other));
    const runs = (...names: string[]) =>
      jsonExport(names.map((name) => ({ traceId: newTrace(), spanId: id(1), attributes: { 'gen_ai.agent.name': name } })));
    expect((await sendJson(runs('Ant', 'Bot', 'Cat', 'Dog'))).headers.get('countersign-warning')).toBeNull();
    const { headers } = await sendJson(runs('ant', 'bot', 'cat', 'dog', 'new'));
    const warnings = headers.get('countersign-warning')!.split(', ');
    expect(warnings).toHaveLength(4);
    expect(warnings.slice(0, 3).every((each) => /^similar-agent-name;agent_name=(ant|bot|cat|dog);similar_to=/.test(each))).toBe(
      true,
    );
    expect(warnings[3]).toBe('similar-agent-name;more=1');
  });

  test.each([
    ['protobuf', (traceId: string) => send(protobufExport(chatRun(traceId)), PROTOBUF)],
    ['gzip', (traceId: string) => send(gzipSync(protobufExport(chatRun(traceId))), { ...PROTOBUF, 'content-encoding': 'gzip' })],
    ['JSON', (traceId: string) => sendJson(jsonExport(chatRun(traceId)))],
  ])('stores a run sent as %s', async (_, post) => {
    const traceId = newTrace();
    const { status, bytes, headers } = await post(traceId);
    expect([status, bytes.toString()]).toEqual([200, headers.get('content-type')!.includes('json') ? '{}' : '']);
    const run = await runOf(traceId);
    expect(run).toMatchObject({
      trace_id: traceId,
      agent: { name: 'otlp-bot' },
      outcome: 'success',
      session_id: 'c-1',
      total_tokens: 150,
      span_count: 2,
      latency_ms: 1500,
      started_at: '2023-11-14T22:13:20.000Z',
    });
    const { items } = await viewer.getResult('runs.spans', { params: { trace: run.id } });
    expect(items.map(({ kind, name, model, provider }) => [kind, name, model, provider])).toEqual([
      ['llm', 'chat gpt-4o', 'gpt-4o-2024-08-06', 'openai'],
      ['agent', 'invoke_agent support-bot', null, null],
    ]);
    const { payload } = await viewer.getResult('runs.span', { params: { trace: run.id }, query: { span_id: id(2) } });
    expect(payload.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ]);
    expect(payload.metadata).toMatchObject({ 'gen_ai.response.id': 'chatcmpl-1' });
  });

  test('keeps the export byte for byte and returns it as the submission of each of its traces', async () => {
    const [one, other] = [newTrace(), newTrace()];
    const body = protobufExport([...chatRun(one), ...chatRun(other)]);
    await send(body, PROTOBUF);
    for (const traceId of [one, other]) {
      const { id: trace } = await runOf(traceId);
      const { submissions } = await viewer.getResult('runs.trace', { params: { trace } });
      expect(submissions).toMatchObject([
        { number: 1, bytes: body.length, media_type: 'application/x-protobuf', redacted: false },
      ]);
      const { text } = await viewer.download('runs.submission', { params: { trace, number: '1' } });
      expect(text).toBe(Buffer.from(body).toString('utf8'));
    }
  });

  test('acknowledges an export that the same key sends again, and stores it once', async () => {
    const traceId = newTrace();
    const body = protobufExport(chatRun(traceId));
    await send(body, PROTOBUF);
    const repeated = await send(body, PROTOBUF);
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    const { id: trace } = await runOf(traceId);
    expect((await viewer.getResult('runs.trace', { params: { trace } })).submission_count).toBe(1);
  });

  test('accepts an export without spans and stores nothing', async () => {
    const before = await server.database.sql('SELECT count(*)::int AS n FROM countersign.otlp_exports');
    expect((await send(new Uint8Array(), PROTOBUF)).status).toBe(200);
    expect((await sendJson({})).status).toBe(200);
    expect(await server.database.sql('SELECT count(*)::int AS n FROM countersign.otlp_exports')).toEqual(before);
  });

  test('rejects and counts spans without valid IDs and stores the others', async () => {
    const traceId = newTrace();
    const { status, bytes } = await sendJson(jsonExport([...chatRun(traceId), { traceId: '00', spanId: id(9) }]));
    expect([status, JSON.parse(bytes.toString())]).toEqual([
      200,
      {
        partialSuccess: {
          rejectedSpans: '1',
          errorMessage: 'Spans not added to runs because their trace_id or span_id is not valid: 1.',
        },
      },
    ]);
    expect((await runOf(traceId)).span_count).toBe(2);
  });

  test('stores an export of 512 spans of one trace, which the worker thread prepares', async () => {
    const traceId = newTrace();
    const [chat, root] = chatRun(traceId);
    const spans = Array.from({ length: 511 }, (_, index) => ({ ...chat!, spanId: id(100 + index) }));
    expect((await send(protobufExport([...spans, root!]), PROTOBUF)).status).toBe(200);
    expect(await runOf(traceId)).toMatchObject({ span_count: 512, total_tokens: 511 * 150 });
  });

  test.each([
    [
      'protobuf',
      'user.id',
      (traceId: string, span: object) => send(protobufExport([{ ...chatRun(traceId)[1]!, ...span }]), PROTOBUF),
    ],
    ['JSON', 'enduser.id', (traceId: string, span: object) => sendJson(jsonExport([{ ...chatRun(traceId)[1]!, ...span }]))],
  ])('overwrites an email address in a user ID before the %s body is stored', async (_, name, post) => {
    const traceId = newTrace();
    const { status, bytes } = await post(traceId, { attributes: { [name]: 'jane@example.com' } });
    expect(status).toBe(200);
    expect(bytes.toString()).toContain('A user ID that contained an email address');
    const { id: trace, external_user_id } = await runOf(traceId);
    expect(external_user_id).toBe(null);
    const { submissions } = await viewer.getResult('runs.trace', { params: { trace } });
    expect(submissions).toMatchObject([{ redacted: true }]);
    const { text } = await viewer.download('runs.submission', { params: { trace, number: '1' } });
    expect(text).toContain('*'.repeat('jane@example.com'.length));
    expect(text).not.toContain('jane@');
    for (const table of ['trace_submissions', 'otlp_exports'] as const) {
      const documents = await storedDocuments(server.database.sql, table, workspace);
      expect(documents.length).toBeGreaterThan(0);
      expect(documents.filter((document) => document.includes('jane@'))).toEqual([]);
    }
  });

  test('overwrites an email address in a user ID that is longer than the contract allows', async () => {
    const userId = `${'x '.repeat(2000)}jane@example.org`;
    const { status, bytes } = await sendJson(jsonExport([{ ...chatRun(newTrace())[1]!, attributes: { 'user.id': userId } }]));
    expect([status, bytes.toString()]).toEqual([200, expect.stringContaining('A user ID that contained an email address')]);
    for (const table of ['trace_submissions', 'otlp_exports'] as const) {
      const documents = await storedDocuments(server.database.sql, table, workspace);
      expect(documents.filter((document) => document.includes('example.org'))).toEqual([]);
    }
  });

  test('accepts the key as a bearer token instead of x-service-key', async () => {
    const { status } = await send(protobufExport(chatRun(newTrace())), {
      ...PROTOBUF,
      authorization: `Bearer ${key}`,
    });
    expect(status).toBe(200);
  });
});
