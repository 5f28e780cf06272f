import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { Callers } from '../fixtures/callers.ts';
import { createDatabaseEnvironment } from '../fixtures/cloned-database.ts';
import { measurePeakBytes } from '../fixtures/process-memory.ts';
import { newKey } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const MIB = 1024 * 1024;

describe('the queue', () => {
  const QUEUE_BYTES = 200_000;
  let database: TestDatabase;
  let server: TestServer;

  beforeAll(async () => {
    database = await cloneDatabase();
    server = await testServer({ database, queueBytesMax: QUEUE_BYTES });
  });

  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const createTenantWithLockedHeads = async () => {
    const id = await server.workspace();
    const key = await server.key(id);
    const audit = (length: number) =>
      server.post(paths.audit, key, { actor: 'ci', action: 'test.queue', rationale: 'x'.repeat(length) });
    return { id, key, audit, release: await lockHeads(database, id) };
  };
  const queuedBytes = async () =>
    Number(/^countersign_queue_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);

  test('causes 503 with Retry-After if it is full; the queued requests are accepted, and further requests when it has room', async () => {
    const { audit, release } = await createTenantWithLockedHeads();
    const responses = Array.from({ length: 60 }, () => audit(9_000));
    const rejected = await firstRejections(responses);
    expect(rejected.length).toBeGreaterThan(30);
    expect(rejected.every(({ headers }) => headers.get('retry-after') === '1')).toBe(true);
    expect(await queuedBytes()).toBeGreaterThan(QUEUE_BYTES / 2);
    expect(await queuedBytes()).toBeLessThanOrEqual(QUEUE_BYTES);
    await release();
    const accepted = (await Promise.all(responses)).filter(({ status }) => status === 200);
    expect(accepted.length).toBe(60 - rejected.length);
    expect((await audit(9_000)).status).toBe(200);
    expect(await queuedBytes()).toBe(0);
  });

  test('keeps room for other tenants while several tenants flood it', async () => {
    const flooders = [
      await createTenantWithLockedHeads(),
      await createTenantWithLockedHeads(),
      await createTenantWithLockedHeads(),
    ];
    const flood = flooders.flatMap(({ audit }) => Array.from({ length: 40 }, () => audit(5_000)));
    await firstRejections(flood);
    const polite = [await createTenantWithLockedHeads(), await createTenantWithLockedHeads()];
    for (const { release } of polite) await release();
    for (const { audit } of polite) {
      const responses = await Promise.all(Array.from({ length: 4 }, () => audit(500)));
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    for (const { release } of flooders) await release();
    await Promise.all(flood);
    expect(await queuedBytes()).toBe(0);
  });

  test('accepts 24 requests of a tenant in sequence within 15 seconds while another tenant floods it', async () => {
    const [flooder, polite] = [await createTenantWithLockedHeads(), await createTenantWithLockedHeads()];
    await flooder.release();
    await polite.release();
    const callers = new Callers({ url: server.url, key: flooder.key }, 32, 0);
    await until('the flood is under way', () => callers.acknowledged.length >= 100);
    const startedAt = Date.now();
    for (let turn = 0; turn < 12; turn += 1) {
      expect((await polite.audit(100)).status).toBe(200);
      expect((await server.post(paths.promotionCheck, polite.key, { agent_name: 'any' })).status).toBe(200);
    }
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    await callers.stop();
    expect(callers.unexpectedResponses).toEqual([]);
  });
});

describe('64 bodies at once', () => {
  let server: ServerProcess;
  let key: string;

  beforeAll(async () => {
    const environment = await createDatabaseEnvironment();
    server = await ServerProcess.start(environment);
    ({ key } = await newKey(environment, 'memory'));
  });

  afterAll(async () => {
    expect(await server.end('SIGTERM')).toBe(0);
    expect(server.errorLogLines).toEqual([]);
  });

  /** Sends a body `count` times at once and measures the peak memory of the server. */
  async function sendAtOnce(count: number, body: Buffer, headers: Record<string, string>) {
    const responses = Promise.all(
      Array.from({ length: count }, () =>
        postRaw(server.url + paths.traces, { authorization: `Bearer ${key}`, ...headers }, body),
      ),
    );
    const { result, peakBytes } = await measurePeakBytes(server.pid, responses);
    return { responses: result, peakBytes };
  }

  const expectServing = async () => {
    const callers = new Callers({ url: server.url, key }, 4);
    await until('the server responds', () => callers.acknowledged.length >= 20);
    await callers.stop();
    expect([...callers.unconfirmed, ...callers.unexpectedResponses]).toEqual([]);
  };

  test('are accepted or get 503 with Retry-After, with bounded memory, if they are large', { timeout: 90_000 }, async () => {
    const spans = Array.from({ length: 500 }, (_, n) => ({
      span_id: `${n}`,
      kind: 'llm',
      name: 'm',
      input: 'x'.repeat(32_000),
    }));
    const { responses, peakBytes } = await sendAtOnce(64, Buffer.from(JSON.stringify({ trace_id: 'large', spans })), {});
    const stored = responses.filter(({ status }) => status === 200);
    const rejected = responses.filter(({ status, headers }) => status === 503 && headers['retry-after'] === '1');
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.length + rejected.length).toBe(64);
    expect(peakBytes).toBeLessThan(1_500 * MIB);
    await expectServing();
  });

  test('are rejected with 413 or 503, with bounded memory, if they are gzip bombs', { timeout: 90_000 }, async () => {
    const bomb = await compressedSpaces(1024 * MIB);
    const { responses, peakBytes } = await sendAtOnce(64, bomb, { 'content-encoding': 'gzip' });
    expect(responses.every(({ status }) => status === 413 || status === 503)).toBe(true);
    expect(responses.some(({ status }) => status === 413)).toBe(true);
    expect(peakBytes).toBeLessThan(1_500 * MIB);
    await expectServing();
  });
});

/** Locks the heads of a tenant's logs so that the tenant's appends wait. Returns a function that releases the locks. */
async function lockHeads(database: TestDatabase, tenantId: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ ...inject('cluster').superuser, database: database.server.database });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT 1 FROM countersign.log_heads WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
  return () => client.end();
}

/** Waits for responses with 503 until no further one arrives within 300 ms, and returns them. The other requests may still wait. */
async function firstRejections<T extends { status: number }>(responses: readonly Promise<T>[]): Promise<T[]> {
  const rejected: T[] = [];
  for (const response of responses) void response.then((each) => each.status === 503 && rejected.push(each));
  let previousCount = -1;
  while (rejected.length !== previousCount || previousCount === 0) {
    previousCount = rejected.length;
    await sleep(300);
  }
  return [...rejected];
}

/** Returns `bytes` spaces, compressed by gzip to about a thousandth of their size. */
async function compressedSpaces(bytes: number): Promise<Buffer> {
  const gzip = createGzip({ level: 9 });
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  const block = Buffer.alloc(MIB, ' ');
  for (let bytesLeft = bytes; bytesLeft > 0; bytesLeft -= block.length) if (!gzip.write(block)) await once(gzip, 'drain');
  gzip.end();
  await once(gzip, 'end');
  return Buffer.concat(chunks);
}

/** Keeps the connections open, because a connection that closes after its response may break before the response is read. */
const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

/** Sends a request without copying the body, which 64 requests share. */
async function postRaw(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  const pendingRequest = request(url, {
    method: 'POST',
    agent,
    headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
  });
  pendingRequest.end(body);
  const [response] = (await once(pendingRequest, 'response')) as [IncomingMessage];
  // The server reads a rejected body up to a limit, so it may disconnect the client after the response.
  pendingRequest.on('error', () => undefined);
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode!, headers: response.headers };
}
