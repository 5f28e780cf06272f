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

/** Starts a server that does not answer. Returns the list of its open responses, which grows with each new request. */
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

const failUnpaced = (missing: string) => expect.fail(`unpaced: ${missing}`);

test('beyond the limit of waiting bytes, the server ends connections with many waiting bytes and still serves one with few', async () => {
  const responses = await listen((server) => paceRequests(server, 'connection', failUnpaced, 512 * 1024));
  const smallClient = await send(REQUEST.repeat(ACTIVE_REQUESTS_MAX + 2));
  await expect.poll(() => responses.length).toBe(ACTIVE_REQUESTS_MAX);
  const largeClients: Socket[] = [];
  for (let number = 0; number < 40; number += 1) largeClients.push(await send(REQUEST.repeat(1_500)));
  const openCount = () => largeClients.filter(({ closed }) => !closed).length;
  await expect.poll(openCount).toBeLessThan(24);
  expect(openCount()).toBeGreaterThan(0);

  let text = '';
  smallClient.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  await expect
    .poll(() => {
      for (const response of responses.splice(0)) response.end('done');
      return text.match(/HTTP\/1\.1 200/g)?.length;
    })
    .toBe(ACTIVE_REQUESTS_MAX + 2);
});

test('the server never mixes the bytes of connections that send in turn', async () => {
  const received = new Map<string, string>();
  await listen((server) => {
    server.removeAllListeners('request');
    server.on('request', async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      received.set(request.url!, body);
      response.end('done');
    });
    paceRequests(server, 'connection', failUnpaced);
  });
  const letters = ['a', 'b', 'c', 'd', 'e', 'f'];
  const head = (name: string, bytes: number) => httpText(`POST /${name} HTTP/1.1`, ['Host: x', `Content-Length: ${bytes}`]);
  const connections = await Promise.all(letters.map((letter) => send(head(letter, 300_000))));
  for (let part = 0; part < 30; part += 1) {
    for (const [index, socket] of connections.entries()) socket.write(letters[index]!.repeat(10_000));
    await sleep(1);
  }
  // Each connection sends more requests at once than may be active. The other requests wait while the server reads other connections.
  for (const [index, socket] of connections.entries())
    socket.write(
      Array.from({ length: 20 }, (_, number) => head(`${letters[index]}${number}`, 3) + letters[index]!.repeat(3)).join(''),
    );
  await expect.poll(() => received.size).toBe(letters.length * 21);
  for (const [url, body] of received) expect(body).toBe(url[1]!.repeat(url.length === 2 ? 300_000 : 3));
});

test('the server reads all connections into one buffer', async () => {
  const reads: Buffer[] = [];
  await listen((server) => {
    server.on('connection', (socket) => {
      const { parser } = socket as unknown as { parser: { execute: (bytes: Buffer) => number } };
      const { execute } = parser;
      parser.execute = (bytes) => {
        reads.push(bytes);
        return execute.call(parser, bytes);
      };
    });
    paceRequests(server, 'connection', failUnpaced);
  });
  for (let number = 0; number < 3; number += 1) await send(REQUEST);
  await expect.poll(() => reads.length).toBe(3);
  expect(new Set(reads.map(({ buffer }) => buffer)).size).toBe(1);
});

test.each([
  ['socket._paused', '_paused'],
  ['socket.parser', 'parser'],
])('the server responds without pacing when Node lacks %s, and reports the missing property once', async (name, property) => {
  const missing: string[] = [];
  const responses = await listen((server) => {
    server.on('connection', (socket) => Object.defineProperty(socket, property, { get: () => undefined, set: () => undefined }));
    paceRequests(server, 'connection', (what) => missing.push(what));
  });
  for (const text of [REQUEST, REQUEST.repeat(20), REQUEST]) await send(text);
  await expect.poll(() => responses.length).toBe(22);
  expect(missing).toEqual([name]);
  for (const response of responses) response.end('done');
  await expect.poll(() => sockets.every(({ bytesRead }) => bytesRead > 0)).toBe(true);
});

test('when Node lacks socket._handle.writeQueueSize, the server still ends the connection of a client that never reads, and keeps idle ones', async () => {
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
  await expect.poll(() => connections.stalledCount).toBe(1);
  await sleep(400);
  expect([idle.closed, connections.openCount]).toEqual([false, 1]);
});
