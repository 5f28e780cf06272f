import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { Connections } from '../../src/http/connections.ts';
import { ACTIVE_REQUESTS_MAX, paceRequests } from '../../src/http/paced-input.ts';
import { httpText } from '../bad-input/raw-socket.ts';

const REQUEST = httpText('GET / HTTP/1.1', ['Host: x']);

let server: Server;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Starts a server that leaves requests unanswered. Returns the responses of those that have begun. */
async function listen(prepare: (server: Server) => void): Promise<ServerResponse[]> {
  const responses: ServerResponse[] = [];
  server = createServer((_request, response) => responses.push(response));
  prepare(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return responses;
}

/** Sends text on a new connection. */
async function send(text: string): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const never = (missing: string) => expect.fail(`unpaced: ${missing}`);

test('ends the connections with the most waiting bytes beyond the limit and answers the others', async () => {
  const responses = await listen((server) => paceRequests(server, 'connection', never, 512 * 1024));
  const polite = await send(REQUEST.repeat(ACTIVE_REQUESTS_MAX + 2));
  await expect.poll(() => responses.length).toBe(ACTIVE_REQUESTS_MAX);
  const greedy: Socket[] = [];
  for (let number = 0; number < 40; number += 1) greedy.push(await send(REQUEST.repeat(1_500)));
  const open = () => greedy.filter(({ closed }) => !closed).length;
  await expect.poll(open).toBeLessThan(24);
  expect(open()).toBeGreaterThan(0);

  let text = '';
  polite.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  await expect
    .poll(() => {
      for (const response of responses.splice(0)) response.end('done');
      return text.match(/HTTP\/1\.1 200/g)?.length;
    })
    .toBe(ACTIVE_REQUESTS_MAX + 2);
});

test.each([
  ['socket._paused', '_paused'],
  ['socket.parser', 'parser'],
])('answers requests without pacing when Node lacks %s and reports it once', async (named, property) => {
  const missing: string[] = [];
  const responses = await listen((server) => {
    server.on('connection', (socket) => Object.defineProperty(socket, property, { get: () => undefined, set: () => undefined }));
    paceRequests(server, 'connection', (what) => missing.push(what));
  });
  for (const text of [REQUEST, REQUEST.repeat(20), REQUEST]) await send(text);
  await expect.poll(() => responses.length).toBe(22);
  expect(missing).toEqual([named]);
  for (const response of responses) response.end('done');
  await expect.poll(() => sockets.every(({ bytesRead }) => bytesRead > 0)).toBe(true);
});

test('ends a connection that never reads when Node does not report the write queue', async () => {
  const connections = new Connections({ connectionsMax: 10, perAddressMax: undefined, sendTimeoutMs: 300 });
  const responses = await listen((server) => {
    connections.watch(server, false);
    server.on('connection', (socket) =>
      Object.defineProperty((socket as unknown as { _handle: object })._handle, 'writeQueueSize', { value: undefined }),
    );
  });
  const idle = await send(REQUEST);
  const stalled = await send(REQUEST);
  stalled.pause();
  await expect.poll(() => responses.length).toBe(2);
  responses[1]!.end(Buffer.alloc(16 * 1024 * 1024));
  await expect.poll(() => connections.stalled).toBe(1);
  await sleep(400);
  expect([idle.closed, connections.open]).toEqual([false, 1]);
});
