import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { startServer } from '../../src/app/start-server.ts';
import { readConfig } from '../../src/config/config.ts';
import { respondToClientError } from '../../src/http/error-reply.ts';
import { BODY, HEADERS, POST_AUDIT } from './http.ts';
import { httpText, sendRaw } from './raw-socket.ts';
import { digestOf, expectRejected, GOOD, setUpRejections } from './rejections.ts';

const target = setUpRejections();

describe('bodies whose length differs from the announced length', () => {
  const text = (length: number) =>
    httpText(POST_AUDIT, [...HEADERS.slice(0, -1), `Content-Length: ${length}`], BODY).replace('KEY', target.key);

  test('the server rejects a body longer than its Content-Length and does not read the rest as a request', async () => {
    const before = await digestOf(target.server.database);
    const responses = await sendRaw(target.server.url, text(10));
    expect(responses.at(-1)).toMatchObject({ status: 400, body: { error: 'bad_request', issues: [] } });
    expect(responses.length).toBeLessThanOrEqual(2);
    expect(await digestOf(target.server.database)).toEqual(before);
  });

  test('the server stores nothing when the client stops sending before its Content-Length is reached', async () => {
    const before = await digestOf(target.server.database);
    const [response] = await sendRaw(target.server.url, text(BODY.length + 1), { closesSending: true });
    expectRejected(response!, 'bad_request');
    expect(await digestOf(target.server.database)).toEqual(before);
  });

  test('the server counts no 5xx and logs no warning when clients disconnect', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const running = await startServer({ ...readConfig({}), port: 0 }, target.server.open, log);
    const gzipped = gzipSync(JSON.stringify({ ...GOOD.entry, rationale: Math.random().toString(36).repeat(500) }));
    for (const [headers, part] of [
      [['Content-Length: 9999'], Buffer.from(BODY)],
      [['Content-Length: 9999', 'Content-Encoding: gzip'], gzipped.subarray(0, 40)],
      [['Transfer-Encoding: chunked'], Buffer.from('5\r\n{"act\r\n')],
    ] as const) {
      const socket = connect(running.address.port, '127.0.0.1');
      socket.write(httpText(POST_AUDIT, [...HEADERS, ...headers]).replace('KEY', target.key));
      socket.write(part);
      await sleep(100);
      socket.resetAndDestroy();
    }
    await sleep(200);
    const metrics = await (await fetch(`http://127.0.0.1:${running.address.port}/metrics`)).text();
    await running.close();
    expect(metrics.split('\n').filter((line) => /requests_total.*status="5/.test(line))).toEqual([]);
    expect(lines.filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
  });
});

describe('a client', () => {
  test('gets 408 when its headers or its body do not arrive in time', async () => {
    const server = createServer({ requestTimeout: 200, headersTimeout: 200, connectionsCheckingInterval: 50 }, () => undefined);
    server.on('clientError', respondToClientError);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const part of [
      `${POST_AUDIT}\r\nHost: x\r\nX-Slow: `,
      httpText(POST_AUDIT, ['Host: x', 'Content-Length: 10'], 'half'),
    ]) {
      const [response] = await sendRaw(url, part);
      expectRejected(response!, 'request_timeout');
    }
    server.close();
  });

  test('is disconnected after a rejection even if it never closes its side of the connection', async () => {
    const server = createServer(() => undefined);
    server.on('clientError', respondToClientError);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write('nonsense\r\n\r\n');
    const [response] = await new Promise<Buffer[]>((resolve) => socket.once('data', (...data) => resolve(data)));
    expect(String(response)).toContain('bad_request');
    const countConnections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    expect(await countConnections()).toBe(1);
    await expect.poll(countConnections, { timeout: 10_000, interval: 200 }).toBe(0);
    socket.destroy();
    server.close();
  });
});
