import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { httpText, parseResponses } from '../bad-input/raw-socket.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const BROKEN_JSON = '{"actor":';
const TEXT = { 'content-type': 'text/plain' };
const TOO_LARGE = Buffer.alloc(2 * 1024 * 1024, 0x20);
const outcome = ({ status, body }: TestResponse) => `${status} ${body.error}`;

describe('the order of checks', () => {
  test('checks route and method before the key', async () => {
    expect(outcome(await server.post('/api/public/nothing', undefined, BROKEN_JSON, TEXT))).toBe('404 not_found');
    const response = await fetch(server.url + paths.audit, { method: 'PUT', headers: TEXT, body: TOO_LARGE });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('checks the key before media type, size and body', async () => {
    expect(outcome(await server.post(paths.audit, undefined, TOO_LARGE, TEXT))).toBe('401 unauthorized');
    expect(outcome(await server.post(paths.audit, 'aa_live_0', BROKEN_JSON))).toBe('401 unauthorized');
  });

  test('rejects a request without a key before the body is sent', async () => {
    const headers = ['Host: x', 'Content-Type: application/json', 'Content-Length: 1000'];
    expect((await firstResponse(httpText(`POST ${paths.audit} HTTP/1.1`, headers))).body.error).toBe('unauthorized');
  });

  test('checks the scope before media type and body, and names the missing scope', async () => {
    const scopes = { telemetry: 'audit', evaluations: 'audit', audit: 'governance', governance: 'telemetry' } as const;
    for (const [path, needed] of [
      [paths.traces, 'telemetry'],
      [paths.telemetry, 'telemetry'],
      [paths.evaluations, 'evaluations'],
      [paths.audit, 'audit'],
      [paths.promotionCheck, 'governance'],
    ] as const) {
      const response = await server.post(path, await server.key(tenantId, [scopes[needed]]), BROKEN_JSON, TEXT);
      expect(outcome(response)).toBe('401 insufficient_scope');
      expect(response.body.issues).toMatchObject([{ path: '', code: 'missing_scope', message: expect.stringContaining(needed) }]);
      expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${needed}"`);
      expect(outcome(await server.post(path, await server.key(tenantId, [needed]), BROKEN_JSON))).toBe('422 invalid_json');
    }
  });

  test('checks the media type before the size, and the size before the body', async () => {
    expect(outcome(await server.post(paths.audit, key, TOO_LARGE, TEXT))).toBe('415 unsupported_media_type');
    expect(outcome(await server.post(paths.audit, key, TOO_LARGE))).toBe('413 payload_too_large');
    expect(outcome(await server.post(paths.audit, key, BROKEN_JSON, TEXT))).toBe('415 unsupported_media_type');
  });

  test('checks the queue last: if it is full, a valid body gets 503 with Retry-After, and an invalid one gets 422', async () => {
    const serverWithSmallQueue = await testServer({ database: server.database, queueBytesMax: 4000 });
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      await lockLogs(tx, ['audit']);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    const entry = { actor: 'ci', action: 'waits.for-its-turn' };
    const queuedRequests = [
      serverWithSmallQueue.post(paths.audit, key, entry),
      serverWithSmallQueue.post(paths.audit, key, entry),
    ];
    const queuedBytes = async () =>
      /^countersign_queue_bytes (\d+)/m.exec(await (await fetch(`${serverWithSmallQueue.url}/metrics`)).text())?.[1];
    await expect.poll(queuedBytes, { timeout: 10_000 }).toMatch(/^2\d{3}$/);
    const rejected = await serverWithSmallQueue.post(paths.audit, key, entry);
    expect([outcome(rejected), rejected.headers.get('retry-after'), rejected.body.issues]).toEqual(['503 unavailable', '1', []]);
    expect(outcome(await serverWithSmallQueue.post(paths.audit, key, { actor: 'ci' }))).toBe('422 validation_failed');
    released.resolve();
    await holding;
    for (const response of await Promise.all(queuedRequests)) expect(response.status).toBe(200);
    expect((await serverWithSmallQueue.post(paths.audit, key, entry)).status).toBe(200);
  });
});

describe('the limit of requests per minute and key', () => {
  test('applies to each key separately, is reported in responses, and is checked after the scope and before the media type', async () => {
    const limitedServer = await testServer({ database: server.database, rateLimitPerMinute: 3 });
    const [usedKey, otherKey] = [await limitedServer.key(tenantId), await limitedServer.key(tenantId)];
    const statusAndRemaining = async (body: unknown) => {
      const { status, headers } = await limitedServer.post(paths.audit, usedKey, body);
      expect(headers.get('ratelimit-policy')).toBe('"per-key";q=3;w=60');
      return [status, Number(/^"per-key";r=(\d+);t=\d+$/.exec(headers.get('ratelimit')!)?.[1])];
    };
    const entry = { actor: 'ci', action: 'counts' };
    expect(await statusAndRemaining(entry)).toEqual([200, 2]);
    expect(await statusAndRemaining({})).toEqual([422, 1]);
    expect(outcome(await limitedServer.post(paths.audit, undefined, entry))).toBe('401 unauthorized');
    expect(await statusAndRemaining(entry)).toEqual([200, 0]);
    const rejected = await limitedServer.post(paths.audit, usedKey, TOO_LARGE, TEXT);
    expect([outcome(rejected), rejected.body.issues]).toEqual(['429 rate_limited', []]);
    const seconds = Number(rejected.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(rejected.headers.get('ratelimit')).toBe(`"per-key";r=0;t=${seconds}`);
    expect((await limitedServer.post(paths.audit, otherKey, entry)).status).toBe(200);
    const keyWithoutScope = await limitedServer.key(tenantId, ['telemetry']);
    for (let sentCount = 0; sentCount < 5; sentCount += 1)
      expect(outcome(await limitedServer.post(paths.audit, keyWithoutScope, entry))).toBe('401 insufficient_scope');
  });

  test('is off by default, and responses do not report a limit', async () => {
    const { headers } = await server.post(paths.audit, key, { actor: 'ci', action: 'counts' });
    expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null]);
  });
});

test('the server gives every request a unique ID that the client cannot choose', async () => {
  const ids = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const { headers } = await server.post(index % 2 ? paths.audit : '/nowhere', key, {}, { 'x-request-id': 'mine' });
      return headers.get('x-request-id');
    }),
  );
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(ids).size).toBe(20);
});

/** Sends text on a new connection, returns the first response, and closes the connection. */
function firstResponse(text: string): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(text));
    socket.on('error', reject);
    socket.once('data', (bytes: Buffer) => {
      socket.destroy();
      resolve(parseResponses(bytes)[0]!);
    });
  });
}
