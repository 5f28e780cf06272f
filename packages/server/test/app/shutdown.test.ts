import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireEmbeddedDatabase } from '@countersign/embedded-database';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { Callers } from '../fixtures/callers.ts';
import { expectKept } from '../fixtures/records.ts';
import { DataFolder, newKey, run, ServerProcess } from '../fixtures/server-process.ts';
import { sealedPool } from '../harness/sealed.ts';
import { paths } from '../harness/test-server.ts';

/** What is promised, in milliseconds. */
const STOP_MS = 10_000;

let folder: DataFolder;
let server: ServerProcess;
let tenantId: string;
let key: string;

beforeAll(async () => {
  folder = new DataFolder();
  ({ tenantId, key } = await newKey(folder.environment, 'shutdown'));
});

beforeEach(async () => {
  if (server === undefined || server.hasEnded) server = await ServerProcess.start(folder.environment);
});

afterAll(async () => {
  if (server?.hasEnded === false) await server.end('SIGTERM');
  await folder.clear();
});

/** Callers that are under way. */
async function busyCallers(): Promise<Callers> {
  const callers = new Callers({ url: server.url, key }, 16);
  await until('the callers are under way', () => callers.acknowledged.length >= 64);
  return callers;
}

/** Expects an orderly end: in time, with 0, nothing left running, and nothing faulty in the log. */
async function expectOrderlyEnd(stopping: ServerProcess, told = Date.now()): Promise<void> {
  expect(await stopping.ended).toBe(0);
  expect(Date.now() - told).toBeLessThan(STOP_MS);
  expect(folder.hasDatabase()).toBe(false);
  await until('its keeper has ended too', () => folder.isAtRest());
  expect(stopping.faults).toEqual([]);
}

/** Expects that whatever was taken was both committed and answered: nothing is stored that no caller heard of. */
async function expectAllAnswered(callers: Callers): Promise<void> {
  await callers.stop();
  expect(callers.faults).toEqual([]);
  const database = await acquireEmbeddedDatabase({ dataDir: folder.path, notify: () => undefined });
  const pool = sealedPool(database.superuser, folder.path);
  try {
    await expectKept(pool, tenantId, callers.acknowledged);
    const { rows } = await pool.query(
      `SELECT name AS marker FROM countersign.evaluations WHERE name = ANY ($1::text[])
       UNION ALL SELECT trace_id FROM countersign.audit_entries WHERE trace_id = ANY ($1::text[])
       UNION ALL SELECT trace_id FROM countersign.telemetry_events WHERE trace_id = ANY ($1::text[])
       UNION ALL SELECT span_id FROM countersign.spans WHERE span_id = ANY ($1::text[])`,
      [callers.unsettled.map(({ marker }) => marker)],
    );
    expect(rows).toEqual([]);
  } finally {
    await pool.end();
    await database.release();
  }
}

describe('stopping', () => {
  test('SIGTERM under load: what was taken is committed and answered, the database is stopped, and the next start works at once', async () => {
    const callers = await busyCallers();
    const told = Date.now();
    server.child.kill('SIGTERM');
    await expectOrderlyEnd(server, told);
    server = await ServerProcess.start(folder.environment);
    await expectAllAnswered(callers);
  });

  test('more signals do not skip the orderly stop', async () => {
    const callers = await busyCallers();
    const told = Date.now();
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM', 'SIGINT'] as const) {
      server.child.kill(signal);
      await sleep(15);
    }
    await expectOrderlyEnd(server, told);
    await expectAllAnswered(callers);
  });

  test('Ctrl-C, which reaches the whole process group, is the same', async () => {
    const callers = await busyCallers();
    const told = Date.now();
    process.kill(-server.pid, 'SIGINT');
    await expectOrderlyEnd(server, told);
    await expectAllAnswered(callers);
  });

  test('slow bodies, unfinished headers and idle connections do not hold it', async () => {
    const head = `POST ${paths.audit} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const body = JSON.stringify({ actor: 'ci', action: 'test.idle' });
    const sockets = await Promise.all([
      sendRaw(`${head}Content-Length: 1000\r\n\r\n{"actor":`),
      sendRaw(`${head}Transfer-Encoding: chunked\r\n\r\n9\r\n{"actor":\r\n`),
      sendRaw(`${head}X-Unfinished`),
      sendRaw(`${head}Content-Length: ${body.length}\r\n\r\n${body}`),
      sendRaw(''),
    ]);
    await once(sockets[3]!, 'data');
    const told = Date.now();
    server.child.kill('SIGTERM');
    await expectOrderlyEnd(server, told);
    for (const socket of sockets) socket.destroy();
  });

  test('a keep-alive connection that goes idle while it stops does not hold it for its whole patience', async () => {
    const callers = await busyCallers();
    const told = Date.now();
    server.child.kill('SIGTERM');
    await callers.stop();
    await expectOrderlyEnd(server, told);
    expect(Date.now() - told).toBeLessThan(4_500);
  });

  test('a database that hangs does not hold it', { timeout: 60_000 }, async () => {
    const callers = await busyCallers();
    const backends = folder.backends();
    for (const pid of [folder.postmaster(), ...backends]) process.kill(pid, 'SIGSTOP');
    await sleep(200);
    const told = Date.now();
    expect(await server.end('SIGTERM')).toBe(0);
    expect(Date.now() - told).toBeLessThan(STOP_MS);
    await callers.stop();
    await until('the database is ended by force', () => folder.isAtRest());
    for (const pid of backends) process.kill(pid, 'SIGCONT');
  });

  test('a command uses the database of the running server and leaves it running', async () => {
    const postmaster = folder.postmaster();
    expect(await run(['workspace', 'list'], folder.environment)).toContain(tenantId);
    expect(folder.postmaster()).toBe(postmaster);
    const callers = await busyCallers();
    await run(['ledger', 'verify', '--workspace', 'shutdown'], folder.environment);
    await callers.stop();
    expect([...callers.unsettled, ...callers.faults]).toEqual([]);
    expect(folder.postmaster()).toBe(postmaster);
  });

  test('a server that starts while another one stops takes the database over', async () => {
    const callers = await busyCallers();
    const stopping = server;
    stopping.child.kill('SIGTERM');
    server = await ServerProcess.start(folder.environment);
    expect(await stopping.ended).toBe(0);
    await expectAllAnswered(callers);
    const after = await busyCallers();
    await after.stop();
    expect([...after.unsettled, ...after.faults]).toEqual([]);
  });
});

/** A connection on which this is sent, and nothing more. */
async function sendRaw(text: string): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}
