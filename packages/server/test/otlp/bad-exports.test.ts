import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { prepareExport } from '../../src/http/prepare-body.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';
import {
  copiedResource,
  copiedScope,
  deepJsonAttribute,
  deepProtobufAttribute,
  manyAttributes,
  manyNames,
  manyTraces,
  repeatedLists,
  repeatedObjects,
} from './costly-exports.ts';
import { type Exporter, type ExportResponse, exporter, JSON_TYPE, PROTOBUF, partialSuccessOf, statusOf } from './sending.ts';
import { chatRun, id, jsonExport, newTrace, protobufExport } from './test-exports.ts';

let server: TestServer;
let workspace: string;
let otlpExporter: Exporter;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  otlpExporter = exporter(server, await server.key(workspace));
});

const countRows = async () =>
  (
    await server.database.sql(
      `SELECT (SELECT count(*)::int FROM countersign.otlp_exports) AS exports, (SELECT count(*)::int FROM countersign.traces) AS traces,
              (SELECT count(*)::int FROM countersign.log_records) AS logs`,
    )
  )[0];

/** Sends an empty export with this Host header, which fetch cannot set. */
const sendToHost = (to: TestServer, host: string, headers: Record<string, string>) =>
  new Promise<ExportResponse>((resolve, reject) => {
    request(`${to.url}/v1/traces`, { method: 'POST', headers: { ...headers, host } }, async (response) =>
      resolve({
        status: response.statusCode!,
        headers: new Headers(response.headers as Record<string, string>),
        bytes: Buffer.concat(await response.toArray()),
      }),
    )
      .on('error', reject)
      .end();
  });

const INVALID_ARGUMENT = 3;
const chatExport = (): Uint8Array => protobufExport(chatRun(newTrace()));
describe('a rejected OTLP request', () => {
  test.each<[string, () => Promise<ExportResponse>, number, RegExp]>([
    ['a text that is not protobuf', () => otlpExporter.send(Buffer.from('hello, world'), PROTOBUF), 400, /not protobuf of OTLP/],
    ['truncated protobuf', () => otlpExporter.send(chatExport().subarray(0, -7), PROTOBUF), 400, /cut off/],
    ['protobuf sent as JSON', () => otlpExporter.send(chatExport(), JSON_TYPE), 400, /not UTF-8|not JSON/],
    ['JSON sent as protobuf', () => otlpExporter.send('{"resourceSpans":[]}', PROTOBUF), 400, /not protobuf of OTLP/],
    ['truncated JSON', () => otlpExporter.send('{"resourceSpans":[', JSON_TYPE), 400, /cut off/],
    [
      'JSON of another structure',
      () => otlpExporter.sendJson({ resourceSpans: [{ scopeSpans: {} }] }),
      400,
      /\/resourceSpans\/0\/scopeSpans must be an array/,
    ],
    ['a JSON array', () => otlpExporter.sendJson([]), 400, /must be an object/],
    [
      'an invalid time',
      () => otlpExporter.sendJson({ resourceSpans: [{ scopeSpans: [{ spans: [{ startTimeUnixNano: 'x' }] }] }] }),
      400,
      /startTimeUnixNano must be nanoseconds/,
    ],
    [
      'a time that is an object',
      () => otlpExporter.sendJson({ resourceSpans: [{ scopeSpans: [{ spans: [{ startTimeUnixNano: { toString: 1 } }] }] }] }),
      400,
      /startTimeUnixNano must be nanoseconds/,
    ],
    [
      'a list that is given twice',
      () =>
        otlpExporter.send(
          `{"resourceSpans":[${JSON.stringify(jsonExport(chatRun(newTrace())).resourceSpans[0])}],"resourceSpans":[]}`,
          JSON_TYPE,
        ),
      400,
      /\/resourceSpans: "resourceSpans" is given twice/,
    ],
    [
      'a member of a record that is given twice',
      () => otlpExporter.send('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{},"body":{}}]}]}]}', JSON_TYPE, '/v1/logs'),
      400,
      /"body" is given twice/,
    ],
    ['deeply nested JSON', () => otlpExporter.send(deepJsonAttribute(400), JSON_TYPE), 400, /nested more deeply/],
    ['deeply nested protobuf', () => otlpExporter.send(deepProtobufAttribute(400), PROTOBUF), 400, /nested more deeply/],
    [
      'too many attributes, compressed',
      () => otlpExporter.send(gzipSync(manyAttributes()), { ...PROTOBUF, 'content-encoding': 'gzip' }),
      413,
      /expands to more than/,
    ],
    [
      'too many attributes, not compressed',
      () => otlpExporter.send(manyAttributes(), PROTOBUF),
      400,
      /more than 500000 attributes, list elements or bodies/,
    ],
    [
      'too many attributes without a value',
      () => otlpExporter.send(manyNames(), PROTOBUF),
      400,
      /more than 500000 attributes, list elements or bodies/,
    ],
    ['too many repeated lists', () => otlpExporter.send(repeatedLists(500_000), PROTOBUF), 400, /more than 500000 attributes/],
    [
      'too many repeated objects',
      () => otlpExporter.send(repeatedObjects(500_000), PROTOBUF),
      400,
      /more than 500000 attributes/,
    ],
    [
      'repeated lists below the limit, in a span without IDs',
      () => otlpExporter.send(repeatedLists(64_000), PROTOBUF),
      400,
      /no span \(of 1\)/,
    ],
    [
      'repeated objects below the limit, in a span without IDs',
      () => otlpExporter.send(repeatedObjects(64_000), PROTOBUF),
      400,
      /no span \(of 1\)/,
    ],
    [
      'a long scope name for many spans',
      () => otlpExporter.sendJson(copiedScope(1_000_000, 600)),
      400,
      /repeats .* fewer traces or spans/,
    ],
    [
      'a scope name for many spans, in a small body',
      () => otlpExporter.sendJson(copiedScope(100_000, 600)),
      400,
      /repeats .* fewer traces or spans/,
    ],
    [
      'a long resource attribute for many traces',
      () => otlpExporter.sendJson(copiedResource(1_000_000, 100)),
      400,
      /repeats .* fewer traces or spans/,
    ],
    [
      'spans of too many traces',
      () => otlpExporter.send(manyTraces(10_001), PROTOBUF),
      400,
      /spans of 10001 traces, and at most 10000 are allowed; send fewer traces at once/,
    ],
    [
      'a span without IDs',
      () => otlpExporter.send(protobufExport([{ traceId: '', spanId: '' }]), PROTOBUF),
      400,
      /no span \(of 1\) has a valid trace_id/,
    ],
    [
      'IDs that consist of zeros',
      () => otlpExporter.sendJson(jsonExport([{ traceId: '0'.repeat(32), spanId: '0'.repeat(16) }])),
      400,
      /no span \(of 1\)/,
    ],
    [
      'a body that is not gzip',
      () => otlpExporter.send(chatExport(), { ...PROTOBUF, 'content-encoding': 'gzip' }),
      400,
      /not gzip/,
    ],
    [
      'an unsupported encoding',
      () => otlpExporter.send(chatExport(), { ...PROTOBUF, 'content-encoding': 'zstd' }),
      415,
      /"zstd" is not supported; use gzip, deflate or none/,
    ],
    [
      'another media type',
      () => otlpExporter.send(chatExport(), { 'content-type': 'text/plain' }),
      415,
      /application\/x-protobuf or application\/json/,
    ],
    [
      'a gzip bomb',
      () => otlpExporter.send(gzipSync(Buffer.alloc(30 * 1024 * 1024)), { ...PROTOBUF, 'content-encoding': 'gzip' }),
      413,
      /expands to more than/,
    ],
    ['a body that is too large', () => otlpExporter.send(Buffer.alloc(21 * 1024 * 1024, 0x0a), PROTOBUF), 413, /at most/],
  ])('with %s gets a google.rpc.Status, and the server stores nothing', async (_, post, httpStatus, message) => {
    const before = await countRows();
    const response = await post();
    const status = statusOf(response);
    expect({ http: response.status, code: status.code }).toEqual({ http: httpStatus, code: INVALID_ARGUMENT });
    expect(status.message).toMatch(message);
    expect(await countRows()).toEqual(before);
  });

  test('in protobuf with no key, an unknown key or a key without the scope gets a 401 in protobuf', async () => {
    const auditKey = await server.key(workspace, ['audit']);
    for (const key of [undefined, 'aa_live_nothing', auditKey]) {
      const response = await exporter(server, key).send(chatExport(), PROTOBUF);
      expect(response.headers.get('content-type')).toBe('application/x-protobuf');
      expect([response.status, statusOf(response).code]).toEqual([401, 16]);
      expect(statusOf(response).message).toMatch(/telemetry/);
    }
  });

  test('for a host that is not configured gets a 421 as google.rpc.Status in the media type of the request', async () => {
    const publicServer = await testServer({ database: server.database, publicUrl: 'https://countersign.example.com' });
    for (const type of [PROTOBUF, JSON_TYPE]) {
      const response = await sendToHost(publicServer, 'evil.example', type);
      expect([response.status, response.headers.get('content-type')]).toEqual([421, type['content-type']]);
      expect(statusOf(response)).toMatchObject({
        code: INVALID_ARGUMENT,
        message: expect.stringContaining('COUNTERSIGN_ALLOWED_HOSTS'),
      });
    }
  });

  test('with the method GET gets a 405 with Allow: POST', async () => {
    for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics']) {
      const response = await fetch(server.url + path);
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });
});

test.each([
  ['/v1/traces', { resourceLogs: [{}] }, 'The body has no resourceSpans, so nothing was stored. Send resourceLogs to /v1/logs.'],
  ['/v1/logs', { resourceSpans: [{}] }, 'The body has no resourceLogs, so nothing was stored. Send resourceSpans to /v1/traces.'],
  [
    '/v1/metrics',
    { resourceSpans: [{}] },
    'The body has no resourceMetrics, so nothing was stored. Send resourceSpans to /v1/traces.',
  ],
  ['/v1/traces', { resource_spans: [{}] }, 'The body has no resourceSpans, so nothing was stored.'],
  ['/v1/traces', {}, ''],
  ['/v1/traces', { resourceSpans: null }, ''],
  ['/v1/traces', { resourceSpans: [], x: 1 }, ''],
])(
  'a JSON body sent to %s without the list that this path expects gets a message; an empty body, or a null or empty list, gets none: %j',
  async (path, body, message) => {
    const response = await otlpExporter.sendJson(body, path);
    expect([response.status, partialSuccessOf(response)]).toEqual([200, { rejected: 0, message }]);
  },
);

test('an export may have spans of 10,000 traces', () => {
  const principal = { tenantId: workspace, keyId: '', prefix: '0123456789ab', scopes: [] };
  const document = Buffer.from(manyTraces(10_000));
  const { traces } = prepareExport({ principal, signal: 'traces', mediaType: 'application/x-protobuf', document });
  expect(traces).toHaveLength(10_000);
});

test('an export may have log records of at most 10,000 traces', () => {
  const principal = { tenantId: workspace, keyId: '', prefix: '0123456789ab', scopes: [] };
  const prepare = (traces: number) => {
    const logRecords = Array.from({ length: traces }, () => ({ traceId: newTrace(), body: { stringValue: 'x' } }));
    const document = Buffer.from(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    return prepareExport({ principal, signal: 'logs', mediaType: 'application/json', document });
  };
  expect(prepare(10_000).otherTraceIds).toHaveLength(10_000);
  expect(() => prepare(10_001)).toThrow(
    expect.objectContaining({
      issues: [expect.objectContaining({ message: expect.stringMatching(/log records of 10001 traces/) })],
    }),
  );
});

test('the server stores an attribute whose JSON text has millions of values, without parsing the text', async () => {
  const text = `[${'{},'.repeat(6_900_000)}{}]`;
  const span = { traceId: newTrace(), spanId: id(1), attributes: { 'ai.prompt.messages': text } };
  expect((await otlpExporter.sendJson(jsonExport([span]))).status).toBe(200);
});

test('an export that does not fit into the queue gets a 503 with Retry-After', async () => {
  const full = await testServer({ queueBytesMax: 1000 });
  const { send } = exporter(full, await full.key(await full.workspace()));
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(chatExport(), PROTOBUF)));
  const rejected = responses.filter(({ status }) => status !== 200);
  expect(rejected.length).toBeGreaterThan(0);
  for (const response of rejected)
    expect([response.status, response.headers.get('retry-after'), statusOf(response).code]).toEqual([503, '1', 14]);
});

test('exports beyond the rate limit of their key get a 429 with Retry-After and are not stored', async () => {
  const limited = await testServer({ rateLimitPerMinute: 2 });
  const { send } = exporter(limited, await limited.key(await limited.workspace()));
  const responses = [];
  for (const path of ['/v1/traces', '/v1/metrics', '/v1/traces', '/v1/logs']) {
    responses.push(await send(path === '/v1/traces' ? chatExport() : new Uint8Array(), PROTOBUF, path));
  }
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
  for (const response of responses.slice(2)) {
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(statusOf(response)).toMatchObject({ code: 8, message: expect.stringContaining('Retry-After') });
  }
  expect(await limited.database.sql('SELECT count(*)::int AS n FROM countersign.otlp_exports')).toEqual([{ n: 1 }]);
});
