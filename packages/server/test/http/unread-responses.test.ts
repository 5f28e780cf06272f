import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { httpText } from '../bad-input/raw-socket.ts';
import { createDatabaseEnvironment } from '../fixtures/cloned-database.ts';
import { residentBytes } from '../fixtures/process-memory.ts';
import { newKey, outputOf } from '../fixtures/run-command.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { paths } from '../harness/test-server.ts';

const MIB = 1024 * 1024;

describe('clients that send requests and never read', () => {
  let server: ServerProcess;
  let key: string;
  let token: string;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    const environment = await createDatabaseEnvironment();
    server = await ServerProcess.start({ ...environment, COUNTERSIGN_SEND_TIMEOUT_SECONDS: '2' });
    ({ key } = await newKey(environment, 'unread'));
    token = await outputOf(['tokens', 'mint', '--workspace', 'unread', '--name', 'auditor'], environment);
    for (let entry = 0; entry < 24; entry += 1) expect((await append('x'.repeat(900_000))).status).toBe(200);
  });

  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    expect(await server.end('SIGTERM')).toBe(0);
    expect(server.errorLogLines).toEqual([]);
  });

  const append = (text: string) =>
    fetch(server.url + paths.audit, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ actor: 'ci', action: 'test.unread', metadata: { text } }),
    });

  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);

  /** Opens connections that send the text and read nothing. */
  function sendWithoutReading(count: number, text: string): void {
    for (let openedCount = 0; openedCount < count; openedCount += 1) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(text));
      socket.on('error', () => undefined);
      socket.pause();
      sockets.push(socket);
    }
  }

  test('use bounded server memory, do not block other clients and are disconnected', { timeout: 100_000 }, async () => {
    const before = residentBytes(server.pid);
    sendWithoutReading(60, httpText('GET /api/ledger/audit/entries HTTP/1.1', ['Host: x', `Authorization: Bearer ${token}`]));
    await until('responses wait in memory', async () => (await metric('countersign_answering_bytes')) > 0);
    for (let turn = 0; turn < 10; turn += 1) {
      expect((await append('others are served')).status).toBe(200);
      expect(residentBytes(server.pid) - before).toBeLessThan(700 * MIB);
      await sleep(100);
    }
    await expect.poll(() => metric('countersign_connections_stalled_total'), { timeout: 40_000 }).toBeGreaterThan(5);
    await expect.poll(() => metric('countersign_answering_bytes'), { timeout: 40_000 }).toBe(0);
    const fullResponse = await fetch(`${server.url}/api/ledger/audit/entries`, { headers: { authorization: `Bearer ${token}` } });
    expect((await fullResponse.text()).split('\n').length).toBeGreaterThan(30);
  });

  test('do not make the server keep the responses to all pipelined requests in memory', async () => {
    const before = residentBytes(server.pid);
    sendWithoutReading(20, httpText('GET /openapi.json HTTP/1.1', ['Host: x']).repeat(1_700));
    await sleep(1_500);
    expect((await append('others are served')).status).toBe(200);
    expect(residentBytes(server.pid) - before).toBeLessThan(300 * MIB);
  });
});
