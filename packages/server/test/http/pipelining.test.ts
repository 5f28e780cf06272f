import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { beforeAll, describe, expect, test } from 'vitest';
import type { StartOptions } from '../../src/app/start-server.ts';
import { ACTIVE_REQUESTS_MAX } from '../../src/http/paced-input.ts';
import { httpText, sendRaw } from '../bad-input/raw-socket.ts';
import { GOOD } from '../bad-input/rejections.ts';
import { TLS_CERTIFICATE } from '../fixtures/tls-certificate.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

/** The number of requests for /held in progress: now, and the largest number during a test. */
const activeRequests = { now: 0, max: 0 };

let server: TestServer;
let authorized: string[];

const options: StartOptions = {
  alsoRegister: (app) =>
    app.get('/held/:number', async ({ params }) => {
      activeRequests.now += 1;
      activeRequests.max = Math.max(activeRequests.max, activeRequests.now);
      await sleep(1);
      activeRequests.now -= 1;
      return params;
    }),
};

beforeAll(async () => {
  server = await testServer({ options });
  const key = await server.key(await server.workspace());
  authorized = ['Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
});

const get = (path: string, ...headers: string[]): string => httpText(`GET ${path} HTTP/1.1`, ['Host: x', ...headers]);
const LAST = 'Connection: close';
const audit = (body: string, ...headers: string[]): string =>
  httpText(`POST ${paths.audit} HTTP/1.1`, [...authorized, `Content-Length: ${body.length}`, ...headers], body);

describe('pipelined requests on one connection', () => {
  test(`run at most ${ACTIVE_REQUESTS_MAX} at a time and get their responses in order`, async () => {
    const count = 1_500;
    const text = Array.from({ length: count - 1 }, (_, number) => get(`/held/${number}`)).join('');
    const responses = await sendRaw(server.url, text + get(`/held/${count - 1}`, LAST), { timeoutMs: 50_000 });
    expect(responses.map(({ body }) => Number(body.number))).toEqual(Array.from({ length: count }, (_, number) => number));
    expect(activeRequests.max).toBeGreaterThan(1);
    expect(activeRequests.max).toBeLessThanOrEqual(ACTIVE_REQUESTS_MAX);
  });

  test(`run at most ${ACTIVE_REQUESTS_MAX} at a time over TLS too, and each gets a response`, async () => {
    const secured = await testServer({ database: server.database, tls: TLS_CERTIFICATE, options });
    activeRequests.max = 0;
    const socket = connectTls({
      port: Number(new URL(secured.url).port),
      host: '127.0.0.1',
      ca: TLS_CERTIFICATE.cert,
      servername: 'localhost',
    });
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
    });
    socket.write(get('/held/1').repeat(299) + get('/held/1', LAST));
    await once(socket, 'close');
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(300);
    expect(activeRequests.max).toBeLessThanOrEqual(ACTIVE_REQUESTS_MAX);
  });

  test.each([
    ['an unknown path', () => get('/nowhere'), get('/nowhere', LAST), 404],
    ['a path that cannot be decoded', () => get('/%zz'), get('/%zz', LAST), 400],
    ['a method that is not allowed', () => get(paths.audit), get(paths.audit, LAST), 405],
    ['a route of the portal', () => get('/api/portal/session'), get('/api/portal/session', LAST), 401],
    ['a route of the ledger', () => get('/api/ledger/audit/entries'), get('/api/ledger/audit/entries', LAST), 401],
    ['a probe', () => get('/livez'), get('/livez', LAST), 200],
  ])('each get a response: %s', async (_what, request, last, status) => {
    const responses = await sendRaw(server.url, request().repeat(299) + last, { timeoutMs: 50_000 });
    expect(responses).toHaveLength(300);
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([status]));
    expect(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size).toBe(300);
  });

  test('can be plain, chunked or with 100-continue, and a body can contain empty lines', async () => {
    const entry = (action: string) => JSON.stringify({ ...GOOD.entry, action });
    const spaced = (action: string) => entry(action).replace('{', `{${'\r\n\r\n'.repeat(400)}`);
    const chunked = (action: string) => {
      const chunks = [...spaced(action)].map((letter) => `1\r\n${letter}\r\n`).join('');
      return httpText(`POST ${paths.audit} HTTP/1.1`, [...authorized, 'Transfer-Encoding: chunked'], `${chunks}0\r\n\r\n`);
    };
    const forms = [
      (action: string) => audit(entry(action)),
      (action: string) => audit(spaced(action)),
      chunked,
      (action: string) => audit(entry(action), 'Expect: 100-continue'),
    ];
    const text = Array.from({ length: 40 }, (_, number) => forms[number % forms.length]!(`test.order-${number}`)).join('');
    const responses = await sendRaw(server.url, text + audit(entry('test.last'), LAST), { timeoutMs: 50_000 });
    expect(responses.map(({ status }) => status)).toEqual(Array(41).fill(200));
  });

  test('get their responses, and bytes after them that are not HTTP then get a 400', async () => {
    const responses = await sendRaw(server.url, `${audit(JSON.stringify(GOOD.entry)).repeat(30)}garbage\r\n\r\n`);
    expect(responses.map(({ status }) => status)).toEqual([...Array(30).fill(200), 400]);
  });

  test('can be split at any byte', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let responses = '';
    socket.on('data', (bytes) => {
      responses += bytes;
    });
    for (const letter of audit(JSON.stringify(GOOD.entry)) + get('/livez', LAST)) {
      socket.write(letter);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => responses.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
  });
});
