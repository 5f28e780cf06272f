import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../bed/portal-client.ts';
import { type TestServer, testServer } from '../bed/test-server.ts';
import { jsonExport, protobufExport, type TestSpan } from './exporter.ts';

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

let lastTrace = 0;
/** A new trace id. */
const newTrace = () => (++lastTrace).toString(16).padStart(32, 'a');
const id = (number: number) => number.toString(16).padStart(16, 'b');

/** A root span and a chat span below it. */
const chatRun = (traceId: string): TestSpan[] => [
  {
    traceId,
    spanId: id(2),
    parentSpanId: id(1),
    name: 'chat gpt-4o',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Hi' }] }]),
      'gen_ai.response.id': 'chatcmpl-1',
    },
  },
  {
    traceId,
    spanId: id(1),
    name: 'invoke_agent support-bot',
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'otlp-bot', 'gen_ai.conversation.id': 'c-1' },
  },
];

const PROTOBUF = { 'content-type': 'application/x-protobuf' };

/** POSTs an export; the body comes back as bytes. */
async function send(body: Uint8Array | string, headers: Record<string, string>, path = '/v1/traces', sentKey = key) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'x-service-key': sentKey, ...headers },
    body: body as NonNullable<RequestInit['body']>,
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}
const sendJson = (body: unknown) => send(JSON.stringify(body), { 'content-type': 'application/json' });

/** The run of a trace id as the portal lists it. */
async function runOf(traceId: string) {
  const { items } = await viewer.get('runs.list', { query: { text: traceId } });
  return items[0]!;
}

describe('POST /v1/traces', () => {
  test.each([
    ['protobuf', (traceId: string) => send(protobufExport(chatRun(traceId)), PROTOBUF)],
    ['gzip', (traceId: string) => send(gzipSync(protobufExport(chatRun(traceId))), { ...PROTOBUF, 'content-encoding': 'gzip' })],
    ['JSON', (traceId: string) => sendJson(jsonExport(chatRun(traceId)))],
  ])('stores a run sent as %s', async (_, post) => {
    const traceId = newTrace();
    const { status, bytes, headers } = await post(traceId);
    expect([status, bytes.toString()]).toEqual([200, headers.get('content-type')!.startsWith('application/json') ? '{}' : '']);
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
    const { items } = await viewer.get('runs.spans', { params: { trace: run.id } });
    expect(items.map(({ kind, name, model, provider }) => [kind, name, model, provider])).toEqual([
      ['llm', 'chat gpt-4o', 'gpt-4o-2024-08-06', 'openai'],
      ['agent', 'invoke_agent support-bot', null, null],
    ]);
    const { payload } = await viewer.get('runs.span', { params: { trace: run.id }, query: { span_id: id(2) } });
    expect(payload.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ]);
    expect(payload.metadata).toMatchObject({ 'gen_ai.response.id': 'chatcmpl-1' });
  });
});
