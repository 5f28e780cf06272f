import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintKey } from '../../src/workspace/ingestion-keys.ts';
import { httpText } from '../bad-input/raw-socket.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const MIB = 1024 * 1024;
/** The memory for responses: enough for one of the documents. */
const ANSWERING_BYTES = 20 * MIB;
/** The limit of bytes that all rejected requests of a test may read from the database. */
const READ_BYTES_MAX = MIB / 2;

let server: TestServer;
let workspace: string;
let viewer: PortalClient;
let token: string;
let trace: string;
let event: string;
const sockets: Socket[] = [];
const connections = new Set<pg.PoolClient>();

/** Texts with the given number of bytes in total. They are random, so that the server can compress them by only about a quarter. */
const texts = (count: number, bytes: number) =>
  Array.from({ length: count }, () =>
    randomBytes(bytes / count)
      .toString('base64')
      .slice(0, bytes / count),
  );

beforeAll(async () => {
  server = await testServer({ answeringBytesMax: ANSWERING_BYTES });
  for (const pool of [server.open.readPool, server.open.ledgerPool]) pool.on('acquire', (client) => connections.add(client));
  workspace = await server.workspace();
  const key = await server.key(workspace);
  const spans = texts(500, 19_000_000).map((input, at) => ({ span_id: `${at}`, kind: 'llm', name: 'm', input }));
  const traceResponse = await server.post(paths.traces, key, { trace_id: 'large', spans });
  trace = traceResponse.body.id;
  const events = texts(100, 19_000_000).map((input, at) => ({ trace_id: `run-${at}`, outcome: 'success', input }));
  const telemetryResponse = await server.post(paths.telemetry, key, { events });
  expect([traceResponse.status, telemetryResponse.status]).toEqual([200, 200]);
  const metadata = { text: texts(1, 900_000) };
  for (let entry = 0; entry < 4; entry += 1)
    expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test.large', metadata })).status).toBe(200);
  viewer = await portalClient(server, workspace, 'viewer');
  const { items } = await viewer.getResult('runs.list', { query: { source: 'telemetry' } });
  event = items[0]!.id;
  token = await mintKey(server.open.pool, workspace, { name: 'auditor', scopes: ['read'], expiresAt: null }, 'operator');
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** Bytes received from the database on read connections. */
const bytesRead = (): number =>
  [...connections].reduce(
    (sum, client) => sum + (client as unknown as { connection: { stream: Socket } }).connection.stream.bytesRead,
    0,
  );

/** Bytes received from the database on read connections within half a second. */
async function bytesReadInHalfASecond(): Promise<number> {
  const before = bytesRead();
  await sleep(500);
  return bytesRead() - before;
}

const answeringBytes = async () =>
  Number(/^countersign_answering_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())![1]);

const portal = (path: string) => ({
  path: `/api/portal/workspaces/${workspace}${path}`,
  headers: { cookie: viewer.browser.cookie! } as Record<string, string>,
});

const READS = {
  'a submission of a trace': () => portal(`/runs/traces/${trace}/submissions/1`),
  'a trace': () => portal(`/runs/traces/${trace}`),
  'the steps of a trace': () => portal(`/runs/traces/${trace}/spans`),
  'a step': () => portal(`/runs/traces/${trace}/payload?span_id=1`),
  'a submission of telemetry': () => portal(`/runs/events/${event}`),
  'a telemetry event': () => portal(`/runs/events/${event}/1`),
  'an export in the portal': () => portal('/ledger/export'),
  'an export by a read token': () => ({
    path: '/api/ledger/audit/entries',
    headers: { authorization: `Bearer ${token}` } as Record<string, string>,
  }),
};

const read = async ({ path, headers }: ReturnType<typeof portal>) => {
  const response = await fetch(server.url + path, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

test('the server rejects a read before it reads documents if there is not enough memory for the response', async () => {
  const { path, headers } = READS['a submission of a trace']();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined).pause();
  sockets.push(socket);
  socket.write(httpText(`GET ${path} HTTP/1.1`, ['Host: x', `Cookie: ${headers.cookie}`]));
  await expect.poll(answeringBytes, { timeout: 20_000 }).toBeGreaterThan(18 * MIB);
  // The accepted request reads 14 MB of compressed data, which the database sends as hexadecimal digits.
  await expect.poll(bytesRead, { timeout: 20_000 }).toBeGreaterThan(27_000_000);
  await expect.poll(bytesReadInHalfASecond).toBe(0);
  const before = bytesRead();
  const reservedBytes = await answeringBytes();
  for (const [what, request] of Object.entries(READS)) {
    const { status, headers: responseHeaders, text } = await read(request());
    expect([what, status, text.slice(0, 99)]).toEqual([what, 503, '{"error":"unavailable","issues":[]}']);
    expect([what, responseHeaders.get('retry-after'), responseHeaders.get('content-disposition')]).toEqual([what, '1', null]);
  }
  expect(bytesRead() - before).toBeLessThan(READ_BYTES_MAX);
  expect(await answeringBytes()).toBe(reservedBytes);
});

test('the server responds to each read when there is enough memory, and releases the memory afterwards', async () => {
  for (const socket of sockets) socket.destroy();
  await expect.poll(answeringBytes, { timeout: 20_000 }).toBe(0);
  for (const [what, request] of Object.entries(READS)) {
    expect([what, (await read(request())).status]).toEqual([what, 200]);
    await expect.poll(answeringBytes).toBe(0);
  }
});

test('the server keeps no memory reserved for records that do not exist', async () => {
  const nowhere = '00000000-0000-7000-8000-000000000000';
  for (const path of [
    `/runs/traces/${trace}/submissions/2`,
    `/runs/traces/${trace}/payload?span_id=nowhere`,
    `/runs/traces/${nowhere}/submissions/1`,
    `/runs/events/${nowhere}`,
    `/runs/events/${event}/5000`,
  ])
    expect([path, (await read(portal(path))).status]).toEqual([path, 404]);
  await expect.poll(answeringBytes).toBe(0);
});
