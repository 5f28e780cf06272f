import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { GateWithStub } from '../fixtures/gate-with-stub.ts';
import { type RequestHandler, respondWith } from '../fixtures/stub-server.ts';

let gate: GateWithStub;

beforeAll(async () => {
  gate = await GateWithStub.start();
});

describe('gate with a server that sends no decision', () => {
  const quick = ['--agent', 'good', '--timeout', '400ms'];

  test.each<[string, RequestHandler, RegExp]>([
    ['truncated JSON', (...call) => respondWith('{"allowed":true,"reason":"all_cond')(...call), /cut off|did not respond/],
    [
      'a connection that closes early',
      (_request, _body, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' });
        response.write('{"allowed":true', () => response.destroy());
      },
      /cannot be read|did not respond/,
    ],
    ['only the member allowed', (...call) => respondWith('{"allowed":true}')(...call), /not a decision of this service/],
    ['an array', (...call) => respondWith('[true]')(...call), /not from Countersign/],
    ['no body', (...call) => respondWith('')(...call), /cut off|did not respond/],
    [
      'a web page',
      (...call) => respondWith('<html>allowed</html>', 200, { 'content-type': 'text/html' })(...call),
      /not from Countersign/,
    ],
    ['a web page labelled as JSON', (...call) => respondWith('<html>allowed</html>')(...call), /cut off|did not respond/],
    [
      'a redirect with 307',
      (...call) => respondWith('', 307, { location: 'http://127.0.0.1:9/' })(...call),
      /redirects.*give the final address of the service/,
    ],
    ['a redirect with 302', (...call) => respondWith('', 302, { location: '/login' })(...call), /redirects/],
    ['204', (_request, _body, response) => void response.writeHead(204).end(), /204/],
    ['401', (...call) => respondWith('{"error":"unauthorized","issues":[]}', 401)(...call), /401 unauthorized/],
    ['403', (...call) => respondWith('forbidden', 403, { 'content-type': 'text/plain' })(...call), /403/],
    ['404', (...call) => respondWith('{"error":"not_found","issues":[]}', 404)(...call), /404 not_found/],
    ['422', (...call) => respondWith('{"error":"validation_failed","issues":[]}', 422)(...call), /422/],
    [
      '429',
      (...call) => respondWith('{"error":"rate_limited","issues":[]}', 429, { 'retry-after': '1' })(...call),
      /429|did not respond/,
    ],
    ['500', (...call) => respondWith('{"error":"internal_error","issues":[]}', 500)(...call), /500 internal_error/],
    ['503', (...call) => respondWith('{"error":"unavailable","issues":[]}', 503)(...call), /503|did not respond/],
    ['500 with allowed: true', (...call) => respondWith('{"allowed":true}', 500)(...call), /500/],
    ['a server that never responds', () => new Promise(() => undefined), /did not respond within/],
  ])('is undecided: %s', (_what, respond, why) => gate.expectUndecided(respond, why, quick));

  test('is undecided with a closed port and with a name that does not resolve', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await gate.expectUndecided(respondWith(''), /cannot be reached|did not respond/, [
      ...quick,
      '--url',
      `http://127.0.0.1:${port}`,
    ]);
    await gate.expectUndecided(respondWith(''), /cannot be reached|did not respond/, [
      ...quick,
      '--url',
      'https://countersign.invalid',
    ]);
  });

  test('retries and accepts a later decision', async () => {
    let requests = 0;
    gate.stub.respond = (...call) =>
      ++requests < 3 ? respondWith('{"error":"unavailable","issues":[]}', 503)(...call) : gate.forward((text) => text)(...call);
    expect((await gate.run(['--agent', 'good'])).status).toBe(0);
  });
});

describe('gate never prints the ingestion key', () => {
  const secret = () => gate.key.split('.')[1]!;

  test.each<[string, (body: string) => RequestHandler]>([
    [
      'in an error',
      (body) => respondWith(`{"error":"validation_failed","issues":[{"path":"","code":"x","message":"${body}"}]}`, 422),
    ],
    ['in a decision', (body) => gate.forward((text) => text.replace('"message":"', `"message":"${body} `))],
    ['in a redirect', (body) => respondWith('', 302, { location: `/${body}` })],
  ])('when a server returns it %s, even with --debug', async (_where, respond) => {
    for (const form of [[], ['--json']]) {
      gate.stub.respond = respond(gate.key);
      const { status, out, err } = await gate.run(['--agent', 'good', '--debug', ...form]);
      expect(status).toBe(3);
      expect(out + err).not.toContain(secret());
      expect(out + err).not.toContain(gate.decisionKey);
    }
  });
});
