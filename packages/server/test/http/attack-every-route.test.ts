import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { httpServer } from '../../src/http/bare-app.ts';
import { ACTIVE_REQUESTS_MAX } from '../../src/http/paced-input.ts';
import { httpText } from '../bad-input/raw-socket.ts';
import { EVERY_ROUTE, fillPath, type ServedRoute } from '../fixtures/every-route.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

/** Attacks every route in `EVERY_ROUTE`. `nosniff.test.ts` fails if `EVERY_ROUTE` lacks a path. `npm run attack` runs longer attacks. */

let server: TestServer;
let workspace: string;
let authorized: string[];
let headers: string[];

/** The number of requests that the server has in progress: now, and the largest number during a test. */
const activeRequests = { now: 0, max: 0 };

beforeAll(async () => {
  const alsoRegister = (app: FastifyInstance) => {
    httpServer(app).prependListener('request', (_request, response) => {
      activeRequests.now += 1;
      activeRequests.max = Math.max(activeRequests.max, activeRequests.now);
      response.once('close', () => {
        activeRequests.now -= 1;
      });
    });
  };
  server = await testServer({ options: { alsoRegister } });
  workspace = await server.workspace();
  const key = await server.key(workspace);
  authorized = ['Host: x', `Authorization: Bearer ${key}`, 'Origin: http://x', 'Content-Type: application/json'];
});

// A new session for each test, because one of the routes signs out.
beforeEach(async () => {
  const { browser } = await createPerson(server, { [workspace]: 'admin' });
  headers = [...authorized, `Cookie: ${browser.cookie}`];
});

/** A request to a route, with an ingestion key and a session cookie. */
const requestTo = (
  { method, path }: ServedRoute,
  extraHeaders: readonly string[] = [],
  body: Buffer = Buffer.alloc(0),
): Buffer => {
  const lines =
    method === 'GET' ? [...headers, ...extraHeaders] : [...headers, ...extraHeaders, `Content-Length: ${body.length}`];
  return Buffer.concat([Buffer.from(httpText(`${method} ${fillPath(path, workspace)} HTTP/1.1`, lines)), body]);
};

/** Sends bytes and reads until the connection is closed. Returns the statuses of the responses, whose bodies may have any format. */
function statusesOf(bytes: Buffer): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      resolve([...text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n(?=[A-Za-z-]+: )/g)].map(([, status]) => Number(status)));
    });
  });
}

/** Five times as many requests as the server runs at a time for one connection. */
const REQUESTS = 5 * ACTIVE_REQUESTS_MAX;

describe(`${REQUESTS} pipelined requests on one connection`, () => {
  test.each(EVERY_ROUTE)(
    `to $method $path run at most ${ACTIVE_REQUESTS_MAX} at a time, and each gets 503 or a status below 500`,
    async (route) => {
      activeRequests.max = 0;
      const request = requestTo(route);
      const lastRequest = requestTo(route, ['Connection: close']);
      const statuses = await statusesOf(Buffer.concat([...Array<Buffer>(REQUESTS - 1).fill(request), lastRequest]));
      expect(activeRequests.max).toBeLessThanOrEqual(ACTIVE_REQUESTS_MAX);
      expect(activeRequests.max).toBeGreaterThan(0);
      // The statuses vary, because a sign-out ends the session and sign-ins are limited.
      expect(statuses).toHaveLength(REQUESTS);
      expect(statuses.filter((status) => status >= 500 && status !== 503)).toEqual([]);
    },
  );
});

const MIB = 1024 * 1024;
const BODIES: readonly (readonly [what: string, body: Buffer, headers: readonly string[]])[] = [
  ['64 MiB of spaces, compressed', gzipSync(Buffer.alloc(64 * MIB, 0x20), { level: 1 }), ['Content-Encoding: gzip']],
  ['6,000,000 objects, compressed', gzipSync(`[${'{},'.repeat(6_000_000)}{}]`, { level: 1 }), ['Content-Encoding: gzip']],
  ['100,000 member names', Buffer.from(`{${Array.from({ length: 100_000 }, (_, at) => `"n${at}":0`).join()}}`), []],
  ['nested 500,000 deep', Buffer.from('['.repeat(500_000)), []],
];

describe.each(BODIES)('a costly body: %s', (_what, body, extraHeaders) => {
  const routesWithBody = EVERY_ROUTE.filter(({ method }) => method !== 'GET' && method !== 'DELETE');

  test.each(routesWithBody)(
    '$method $path responds with 503 or a status below 500, and only OTLP may accept it',
    async (route) => {
      const statuses = await statusesOf(requestTo(route, [...extraHeaders, 'Connection: close'], body));
      expect(statuses).toHaveLength(1);
      // OTLP ignores unknown members.
      if (!route.path.startsWith('/v1/')) expect(statuses[0]).toBeGreaterThanOrEqual(400);
      expect(statuses[0]! < 500 || statuses[0] === 503).toBe(true);
    },
  );
});

test('a thousand clients that disconnect during requests leave no request in progress and no reserved bytes', async () => {
  const port = Number(new URL(server.url).port);
  for (const route of EVERY_ROUTE) {
    const wholeRequest = requestTo(route);
    const disconnected = Array.from({ length: Math.ceil(1000 / EVERY_ROUTE.length) }, (_, index) => {
      const part = wholeRequest.subarray(0, Math.ceil((wholeRequest.length * (index + 1)) / 20));
      return new Promise<void>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(part, () => socket.resetAndDestroy()));
        socket.on('close', () => resolve()).on('error', reject);
      });
    });
    await Promise.all(disconnected);
  }
  await expect.poll(() => activeRequests.now).toBe(0);
  const readingBytes = async () =>
    /^countersign_reading_bytes (\d+)/m.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1];
  await expect.poll(readingBytes).toBe('0');
});
