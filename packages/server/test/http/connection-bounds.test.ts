import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Connections } from '../../src/http/connections.ts';
import { testServer } from '../harness/test-server.ts';

test.each([
  ['in total', { connectionsMax: 5 }],
  ['from one address', { connectionsPerAddressMax: 5 }],
])(
  'at the limit of connections %s, a new connection gets 503 and is closed; after an open connection ends, a new one is accepted',
  async (_what, bound) => {
    const server = await testServer(bound);
    const port = Number(new URL(server.url).port);
    const openSockets: Socket[] = [];
    for (let number = 0; number < 5; number += 1) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      openSockets.push(socket);
    }
    const rejected = connect(port, '127.0.0.1');
    let response = '';
    rejected.setEncoding('latin1').on('data', (text: string) => {
      response += text;
    });
    await once(rejected, 'end');
    rejected.destroy();
    expect(response).toMatch(/^HTTP\/1\.1 503 [\s\S]*Retry-After: 1[\s\S]*Connection: close[\s\S]*"error":"unavailable"/);
    openSockets.pop()!.destroy();
    const metrics = async () => {
      const response = await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } });
      return response.status === 200 ? await response.text() : '';
    };
    await expect.poll(metrics).toMatch(/^countersign_connections_refused_total [1-9]/m);
    for (const socket of openSockets) socket.destroy();
  },
);

test('the limit for one address counts all addresses of an IPv6 /64 network as one', () => {
  const connections = new Connections({ connectionsMax: 100, perAddressMax: 2, sendTimeoutMs: 1000 });
  const server = createServer();
  connections.watch(server, true);
  const isOpen = (address: string) => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: address });
    server.emit('connection', socket);
    return !socket.destroyed;
  };
  expect(
    ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::3', '192.0.2.1', '192.0.2.2', '192.0.2.3'].map(isOpen),
  ).toEqual([...[true, true, false], ...[true, true, true, true]]);
  expect(connections.rejectedCount).toBe(1);
});
