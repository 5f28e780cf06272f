import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { testServer } from '../harness/test-server.ts';

test.each([
  ['in total', { connectionsMax: 5 }],
  ['from one address', { connectionsPerAddressMax: 5 }],
])(
  'at the limit of connections %s, a new connection gets 503 and is closed; after one ends, new ones are served',
  async (_what, bound) => {
    const server = await testServer(bound);
    const port = Number(new URL(server.url).port);
    const open: Socket[] = [];
    for (let number = 0; number < 5; number += 1) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      open.push(socket);
    }
    const rejected = connect(port, '127.0.0.1');
    let answer = '';
    rejected.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
    });
    await once(rejected, 'end');
    rejected.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*Retry-After: 1[\s\S]*Connection: close[\s\S]*"error":"unavailable"/);
    open.pop()!.destroy();
    const metrics = async () => {
      const response = await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } });
      return response.status === 200 ? await response.text() : '';
    };
    await expect.poll(metrics).toMatch(/^countersign_connections_refused_total [1-9]/m);
    for (const socket of open) socket.destroy();
  },
);
