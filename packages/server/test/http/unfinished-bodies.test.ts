import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { paths, testServer } from '../harness/test-server.ts';

/** The memory for request bodies. While no other caller sends bodies, a caller can start bodies of unknown length in a quarter of it. */
const READING_BYTES = 1_200_000;

const server = await testServer({ readingBytesMax: READING_BYTES, reportBytesMax: 150_000, recordBytesMax: 100_000 });
const key = await server.key(await server.workspace());
const otherKey = await server.key(await server.workspace());

const openSockets: Socket[] = [];

/** Starts chunked bodies until the server rejects one. None of them is finished. */
async function startBodies(path: string, headers: readonly string[]): Promise<void> {
  let response = '';
  for (let count = 0; count < 40 && response === ''; count += 1) {
    const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      response += chunk.toString('latin1');
    });
    const before = await readingBytes();
    const head = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
    socket.write(`${[...head, ...headers].join('\r\n')}\r\n\r\n1\r\n{\r\n`);
    openSockets.push(socket);
    await until('the body is admitted or rejected', async () => response !== '' || (await readingBytes()) > before);
  }
  expect(response).toMatch(/^HTTP\/1.1 503 /);
}

const readingBytes = async () =>
  Number(/^countersign_reading_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]);

const sendCompressed = async (senderKey: string): Promise<number> => {
  const { status } = await server.post(paths.telemetry, senderKey, gzipSync('{"trace_id":"t","outcome":"success"}'), {
    'content-encoding': 'gzip',
  });
  return status;
};

afterEach(async () => {
  for (const socket of openSockets.splice(0)) socket.destroy();
  await until('the memory is freed', async () => (await readingBytes()) === 0);
});

describe('bodies of unknown length that are never finished', () => {
  test('from a caller who is not signed in do not block compressed bodies of workspaces', async () => {
    await startBodies('/api/portal/session', ['Origin: http://127.0.0.1']);
    expect([await sendCompressed(key), await sendCompressed(otherKey)]).toEqual([200, 200]);
  });

  test('from one workspace do not block compressed bodies of another workspace, even after growing as far as possible', async () => {
    await startBodies(paths.traces, [`Authorization: Bearer ${key}`]);
    const piece = `${(46_000).toString(16)}\r\n${'x'.repeat(46_000)}\r\n`;
    for (const socket of openSockets) socket.write(piece.repeat(3));
    await until('the bodies have grown', async () => (await readingBytes()) > READING_BYTES * 0.35);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await sendCompressed(otherKey)).toBe(200);
  });

  test('from one workspace block compressed bodies of the same workspace, but not of another workspace', async () => {
    await startBodies(paths.traces, [`Authorization: Bearer ${key}`]);
    const statuses = await Promise.all([sendCompressed(otherKey), sendCompressed(otherKey)]);
    expect([await sendCompressed(key), ...statuses]).toEqual([503, 200, 200]);
  });
});
