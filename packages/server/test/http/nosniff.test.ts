import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../src/app/start-server.ts';
import { readConfig } from '../../src/config/config.ts';
import { MALFORMED_REQUESTS } from '../bad-input/http.ts';
import { httpText, sendRaw } from '../bad-input/raw-socket.ts';
import { EVERY_ROUTE, fillPath, listMissingRoutes } from '../fixtures/every-route.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let cookie: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  cookie = (await createPerson(server, { [workspace]: 'admin' })).browser.cookie!;
});

/** Sends a request and returns the header X-Content-Type-Options. The response may have any status. */
const contentTypeOptionsOf = async (path: string, init: RequestInit) => {
  const response = await fetch(server.url + path, { redirect: 'manual', ...init });
  await response.arrayBuffer();
  return response.headers.get('x-content-type-options');
};

describe('X-Content-Type-Options: nosniff', () => {
  test.each(EVERY_ROUTE)('is in the responses of $path to $method, OPTIONS, HEAD and GET', async ({ method, path }) => {
    const filled = fillPath(path, workspace);
    const headers = { authorization: `Bearer ${key}`, cookie, origin: server.url, 'content-type': 'application/json' };
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{}' };
    const values = [];
    for (const init of [{ method }, { method, headers, ...body }, { method: 'OPTIONS' }, { method: 'HEAD' }])
      values.push(await contentTypeOptionsOf(filled, init));
    values.push(await contentTypeOptionsOf(filled, { headers: { accept: 'text/html' } }));
    expect(values).toEqual(Array(5).fill('nosniff'));
  });

  test.each(MALFORMED_REQUESTS)('is in the response to input that the parser rejects: $what', async ({ text }) => {
    const [response] = await sendRaw(server.url, Buffer.from(text, 'latin1'));
    expect(response!.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test.each([
    ['an unknown path', httpText('GET /api/nothing HTTP/1.1', ['Host: x', 'Connection: close'])],
    ['CONNECT', httpText('CONNECT x:443 HTTP/1.1', ['Host: x'])],
  ])('is in the response to %s', async (_what, text) => {
    const [response] = await sendRaw(server.url, text);
    expect(response!.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('EVERY_ROUTE', () => {
  let running: RunningServer;
  afterAll(() => running?.close());

  test('contains every path that the server registers', async () => {
    const found: { missing?: () => string[] } = {};
    const alsoRegister = (app: FastifyInstance) => {
      app.get('/a-path-that-no-table-has', async () => '');
      found.missing = () => listMissingRoutes(app);
    };
    running = await startServer({ ...readConfig({}), port: 0 }, server.open, pino({ level: 'silent' }), { alsoRegister });
    expect(found.missing!()).toEqual(['/a-path-that-no-table-has']);
  });
});
