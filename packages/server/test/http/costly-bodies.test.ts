import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { exceededBound } from '@countersign/core/domain/json-size';
import { describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { BODY_BOUNDS, WORKER_HEAP_MB } from '../../src/http/body-bounds.ts';
import { BodyPreparer } from '../../src/http/body-preparer.ts';
import { storedDocuments } from '../harness/stored-documents.ts';
import { paths, type TestResponse, testServer } from '../harness/test-server.ts';

const server = await testServer();
const tenantId = await server.workspace();
const key = await server.key(tenantId);

const bounds = { valuesMax: 1000, namesMax: 1000 };
const exceeded = (text: string) => exceededBound(Buffer.from(text), bounds, 1);
const objectWithNames = (count: number, name: (index: number) => string) =>
  `{${Array.from({ length: count }, (_, index) => `${JSON.stringify(name(index))}:1`).join()}}`;

describe('the check of limits before JSON is parsed', () => {
  test('counts each comma, opening bracket and opening brace as a value', () => {
    expect(exceeded(`[${'1,'.repeat(990)}1]`)).toBeUndefined();
    expect(exceeded(`[${'1,'.repeat(1000)}1]`)).toBe('valuesMax');
    expect(exceeded(`[${'{},'.repeat(600)}1]`)).toBe('valuesMax');
    expect(exceeded('['.repeat(1001))).toBe('valuesMax');
  });

  test('does not count the content of strings, even with escaped quotes, a final backslash or no closing quote', () => {
    for (const text of [
      '[{,:'.repeat(2000),
      '\\"[,'.repeat(2000),
      `${'x'.repeat(61)}\\`,
      `${'x'.repeat(200)}\\`,
      '\\'.repeat(501),
    ])
      expect(exceeded(JSON.stringify([text, text, 1]))).toBeUndefined();
    expect(exceeded(`["${'a'.repeat(500)}`)).toBeUndefined();
  });

  test('counts each different name once, including long names', () => {
    const nameBounds = { valuesMax: 1_000_000, namesMax: 1000 };
    const exceededNameBound = (text: string) => exceededBound(Buffer.from(text), nameBounds, 7);
    expect(exceededNameBound(objectWithNames(990, (index) => `n${index}`))).toBeUndefined();
    expect(exceededNameBound(objectWithNames(1100, (index) => `n${index}`))).toBe('namesMax');
    expect(exceededNameBound(objectWithNames(1100, (index) => `${index}${'x'.repeat(200)}`))).toBe('namesMax');
    expect(exceededNameBound(`[${Array.from({ length: 5000 }, () => '{"id":1,"name":2}').join()}]`)).toBeUndefined();
  });
});

describe('bodies that need much more memory than their size', () => {
  const rejectionOf = ({ status, body }: TestResponse) => [
    status,
    body.error,
    body.issues[0].code,
    /\d{4,}|300/.exec(body.issues[0].message)?.[0],
  ];

  test('with six million objects are rejected: by the limit of expansion if compressed, by the limit of values if not', async () => {
    const objects = (count: number) => `{"trace_id":"a","metadata":{"a":[${'{},'.repeat(count)}{}]}}`;
    const packed = gzipSync(objects(6_000_000));
    expect(rejectionOf(await server.post(paths.traces, key, packed, { 'content-encoding': 'gzip' }))).toEqual([
      413,
      'payload_too_large',
      'size_limit',
      '300',
    ]);
    expect(rejectionOf(await server.post(paths.traces, key, objects(6_000_000)))).toEqual([
      422,
      'validation_failed',
      'too_many_values',
      '1000000',
    ]);
  });

  test('with too many different names are rejected: more than 100,000 in a trace, or more than 10,000 in an audit entry', async () => {
    const trace = `{"trace_id":"a","metadata":${objectWithNames(1_200_000, (index) => index.toString(36))}}`;
    expect(rejectionOf(await server.post(paths.traces, key, trace))).toEqual([
      422,
      'validation_failed',
      'too_many_names',
      '100000',
    ]);
    const entry = `{"actor":"a","action":"b","metadata":${objectWithNames(60_000, (index) => index.toString(36))}}`;
    expect(rejectionOf(await server.post(paths.audit, key, entry))).toEqual([
      422,
      'validation_failed',
      'too_many_names',
      '10000',
    ]);
  });
});

/** A realistic large trace: 500 steps with conversations, embeddings and tool results. */
const realisticTrace = (traceId: string) => ({
  trace_id: traceId,
  spans: Array.from({ length: 500 }, (_, index) => ({
    span_id: `s${index}`,
    kind: index % 2 === 0 ? 'llm' : 'tool',
    name: 'step',
    prompt_tokens: 10,
    completion_tokens: 5,
    cost_usd: 0.001,
    started_at: '2026-11-20T09:30:00.000Z',
    messages: Array.from({ length: 20 }, (_, turn) => ({
      role: 'user',
      content: `${index}-${turn} ${'of the order '.repeat(80)}`,
    })),
    embedding: Array.from({ length: 700 }, (_, place) => Number(Math.sin(index * 700 + place).toFixed(9))),
    tool_result: {
      rows: Array.from({ length: 25 }, (_, row) => ({
        id: row,
        [`order_${index}_${row}`]: 'shipped',
        quantity: 3,
        notes: 'x'.repeat(100),
      })),
    },
  })),
});

/** Invalid bodies that `prepareBody` rejects for different reasons. */
const INVALID_BODIES: [string, string][] = [
  [paths.traces, '{"trace_id":7,"spans":[{"kind":"x"}]}'],
  [paths.traces, '{"trace_id":"a","spans":[{"span_id":"s","kind":"tool","name":"n"},{"span_id":"s","kind":"tool","name":"n"}]}'],
  [paths.traces, `{"trace_id":"a","metadata":{"a":${'['.repeat(1000)}${']'.repeat(1000)}}}`],
  [paths.traces, '[1,2]'],
  [paths.audit, '{"actor":"a","action":"b","metadata":{"a":1,"a":2,"n":1.00000000000000000001}}'],
  [paths.audit, '{"actor":"a","action":"b","rationale":"\\ud83d","unknown":1}'],
  [paths.audit, '{"actor":'],
  [paths.telemetry, `{"trace_id":"t","outcome":"o","prompt_tokens":${2 ** 53 - 1},"completion_tokens":5}`],
  [paths.telemetry, '{"events":[{"trace_id":"t"},{"outcome":"o","external_user_id":"a@b.example"}]}'],
  [paths.evaluations, '{"name":"n","pass_rate":101,"agent_id":"no-uuid"}'],
  [paths.detailedEvaluations, '{"name":"n","pass_rate":101}'],
  [paths.promotionCheck, '{"min_pass_rate":0}'],
];

describe('the worker thread for large bodies', () => {
  const countBodiesDone = async () => Number(/^countersign_worker_bodies_done (\d+)/m.exec(await metricsOf(server.url))?.[1]);

  test('stores a valid trace of 17 MB once, with its sums; a small trace does not use the thread', async () => {
    const body = JSON.stringify(realisticTrace('large'));
    expect(body.length).toBeGreaterThan(15_000_000);
    const before = await countBodiesDone();
    const response = await server.post(paths.traces, key, body, { 'idempotency-key': 'large' });
    expect([response.status, response.body.spans_ingested, response.body.tokens, response.body.cost_usd]).toEqual([
      200, 500, 7500, 0.5,
    ]);
    expect(await countBodiesDone()).toBe(before + 1);
    const replayed = await server.post(paths.traces, key, body, { 'idempotency-key': 'large' });
    expect([replayed.status, replayed.headers.get('idempotent-replayed'), replayed.body.id]).toEqual([
      200,
      'true',
      response.body.id,
    ]);
    const stored = await storedDocuments(server.database.sql, 'trace_submissions', tenantId);
    expect(stored.filter((document) => document.toString() === body)).toHaveLength(1);
    const doneBefore = await countBodiesDone();
    expect((await server.post(paths.traces, key, { trace_id: 'small' })).status).toBe(200);
    expect(await countBodiesDone()).toBe(doneBefore);
  });

  test('keeps 90 KB of telemetry with few values on the main thread and moves a body with many values to the worker', async () => {
    const before = await countBodiesDone();
    const events = (count: number, name: string) =>
      Array.from({ length: count }, (_, index) => ({
        trace_id: `${name}-${index}`,
        outcome: 'success',
        metadata: { note: name },
      }));
    const fewValues = JSON.stringify({ events: events(200, 'a'.repeat(200)) });
    expect(fewValues.length).toBeGreaterThan(90_000);
    expect((await server.post(paths.telemetry, key, fewValues)).status).toBe(200);
    expect(await countBodiesDone()).toBe(before);
    const manyValues = JSON.stringify({
      trace_id: 'many',
      outcome: 'success',
      metadata: { list: Array.from({ length: 40_000 }, () => 1) },
    });
    expect(manyValues.length).toBeLessThan(256 * 1024);
    expect((await server.post(paths.telemetry, key, manyValues)).status).toBe(200);
    expect(await countBodiesDone()).toBe(before + 1);
  });

  test('reads large exports of metrics on the worker and a small one on the main thread, with the same form of response', async () => {
    const before = await countBodiesDone();
    const send = (contentType: string, body: Uint8Array | string) =>
      fetch(`${server.url}/v1/metrics`, {
        method: 'POST',
        headers: { 'x-service-key': key, 'content-type': contentType },
        body: body as NonNullable<RequestInit['body']>,
      });
    const dataPoints = (count: number) => [{ name: 'm', gauge: { dataPoints: Array.from({ length: count }, () => ({})) } }];
    const metrics = (count: number) => JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: dataPoints(count) }] }] });
    const small = await send('application/json', metrics(3));
    expect([small.status, await small.text()]).toEqual([200, expect.stringContaining('"rejectedDataPoints":"3"')]);
    expect(await countBodiesDone()).toBe(before);
    const large = await send('application/json', metrics(90_000));
    expect([large.status, await large.text()]).toEqual([200, expect.stringContaining('"rejectedDataPoints":"90000"')]);
    expect((await send('application/x-protobuf', new Uint8Array(300_000))).status).toBe(400);
    expect((await send('application/json', metrics(100_001))).status).toBe(400);
    expect(await countBodiesDone()).toBe(before + 3);
  });

  test('each endpoint reports the same errors from the worker as from the main thread', async () => {
    const padding = ' '.repeat(300_000);
    const before = await countBodiesDone();
    const entry = { actor: 'ci', action: 'a.b', metadata: { nested: [1, 'two', null] } };
    const responses = [
      await server.post(paths.telemetry, key, JSON.stringify({ trace_id: 't', outcome: 'success' }) + padding),
      await server.post(paths.evaluations, key, JSON.stringify({ name: 'n', pass_rate: 90, agent_name: 'a' }) + padding),
      await server.post(paths.audit, key, JSON.stringify(entry) + padding),
      await server.post(paths.promotionCheck, key, JSON.stringify({ agent_name: 'a' }) + padding),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const [path, invalidBody] of INVALID_BODIES) {
      const [small, large] = [await server.post(path, key, invalidBody), await server.post(path, key, padding + invalidBody)];
      expect([large.status, large.body]).toEqual([small.status, small.body]);
      expect(small.status).toBe(422);
    }
    expect(await countBodiesDone()).toBe(before + 4 + INVALID_BODIES.length);
  });

  test('serves tenants in turn when one sends many bodies, and rejects only the bodies of that tenant when its queue is full', async () => {
    const preparer = new BodyPreparer();
    const requestOf = (tenant: string) => ({
      principal: { tenantId: tenant, keyId: 'k', prefix: 'p', scopes: [] },
      document: Buffer.from(JSON.stringify({ trace_id: tenant }) + ' '.repeat(300_000)),
      idempotencyKey: undefined,
      prefersAttestation: false,
    });
    const order: string[] = [];
    const send = async (tenant: string) => {
      await preparer.prepare('ingestTrace', requestOf(tenant));
      order.push(tenant);
    };
    await Promise.all([...Array.from({ length: 20 }, () => send('many')), send('one')]);
    expect(order.indexOf('one')).toBeLessThan(5);
    for (let sentCount = 0; sentCount < 768; sentCount += 1) void send('many').catch(() => undefined);
    await expect(Promise.all(Array.from({ length: 3 }, () => send('many')))).rejects.toMatchObject({ code: 'unavailable' });
    await send('one');
    await preparer.close();
    expect(preparer.length).toBe(0);
  });

  test('responds with 503 to a body that ends its thread, and prepares the next bodies on a new thread', async () => {
    const file = new URL('../fixtures/ending-body-worker.ts', import.meta.url);
    const serverWithEndingWorker = await testServer({
      database: server.database,
      options: { bodyPreparer: new BodyPreparer({ file }) },
    });
    const padBody = (traceId: string) => JSON.stringify({ trace_id: traceId }) + ' '.repeat(300_000);
    expect((await serverWithEndingWorker.post(paths.traces, key, padBody('before'))).status).toBe(200);
    const failedResponse = await serverWithEndingWorker.post(paths.traces, key, padBody('end this thread'));
    expect([failedResponse.status, failedResponse.body.error, failedResponse.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ]);
    expect((await serverWithEndingWorker.post(paths.traces, key, padBody('after'))).status).toBe(200);
    expect((await fetch(`${serverWithEndingWorker.url}/readyz`)).status).toBe(200);
  });

  test('needs at most half of its heap for bodies close to the limits of values and names', async () => {
    const preparer = new BodyPreparer({ heapMb: WORKER_HEAP_MB / 2 });
    const { valuesMax, namesMax } = BODY_BOUNDS.report;
    const members = (object: number) =>
      Array.from(
        { length: 8 },
        (_, index) => `"${'abcdefgh'[(index * 3 + object * (index + 1)) % 8]}${object % (namesMax / 10)}":1`,
      ).join();
    const values = Array.from({ length: (valuesMax - 100) / 9 }, (_, object) => `{${members(object)}}`).join();
    const body = Buffer.from(`{"trace_id":"t","metadata":{"v":[${values}]}}`);
    const principal = { tenantId: 't', keyId: 'k', prefix: 'p', scopes: [] };
    for (let sentCount = 0; sentCount < 2; sentCount += 1)
      await preparer.prepare('ingestTrace', {
        principal,
        document: Buffer.from(body),
        idempotencyKey: undefined,
        prefersAttestation: false,
      });
    await preparer.close();
  });
});

/**
 * Sends only the head of a request, which declares a body of a megabyte. Returns the text received until the connection ends or `isEnough`
 * returns true.
 */
function receive(head: string[], isEnough: (text: string) => boolean, from = server): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(from.url).port), '127.0.0.1');
    let text = '';
    const finish = () => {
      socket.destroy();
      resolve(text);
    };
    socket.on('data', (chunk) => {
      text += chunk;
      if (isEnough(text)) finish();
    });
    socket.on('end', finish);
    socket.on('error', reject);
    const commonLines = [
      `POST ${paths.traces} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
    ];
    socket.write(`${[...commonLines, 'Content-Length: 1000000', ...head].join('\r\n')}\r\n\r\n`);
  });
}

describe('a body of a declared length', () => {
  test('gets 100 Continue only when enough memory is free', async () => {
    const smallServer = await testServer({ database: server.database, readingBytesMax: 1_200_000 });
    const expecting = ['Expect: 100-continue'];
    const holder = connect(Number(new URL(smallServer.url).port), '127.0.0.1');
    const isInterim = (text: string) => text.includes('\r\n\r\n');
    expect(await receive(expecting, isInterim, smallServer)).toMatch(/^HTTP\/1\.1 100 /);
    holder.write(
      `POST ${paths.traces} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 1150000\r\n\r\n{`,
    );
    await until('the memory is reserved', async () =>
      /^countersign_reading_bytes 1150000$/m.test(await metricsOf(smallServer.url)),
    );
    const rejected = await receive(expecting, isInterim, smallServer);
    expect(rejected).toMatch(/^HTTP\/1\.1 503 /);
    expect(rejected).toMatch(/^connection: close\r$/im);
    holder.destroy();
  });

  test('gets 408 if it does not arrive in time, and its memory is freed', async () => {
    const response = await receive([], (text) => text.includes('request_timeout'));
    expect(response).toMatch(/^HTTP\/1\.1 408 /);
    await until('the memory is freed', async () => /^countersign_reading_bytes 0$/m.test(await metricsOf(server.url)));
  }, 40_000);
});

const metricsOf = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();
