import { describe, expect, test } from 'vitest';
import { paths } from '../harness/test-server.ts';
import {
  BODY,
  CONTENT_LENGTH,
  HEADERS,
  headersWithout,
  MALFORMED_REQUESTS,
  MISSING_OR_DUPLICATE_PARTS,
  PATH_SPELLINGS,
  POST_AUDIT,
  REJECTED_METHODS,
  UNKNOWN_PATHS,
} from './http.ts';
import { httpText, sendRaw } from './raw-socket.ts';
import { digestOf, expectRejected, setUpRejections } from './rejections.ts';

const target = setUpRejections();

describe.each([
  ['rejects malformed HTTP', MALFORMED_REQUESTS],
  ['rejects missing and duplicate parts', MISSING_OR_DUPLICATE_PARTS],
  ['rejects other methods', REJECTED_METHODS],
  ['rejects unknown paths', UNKNOWN_PATHS],
] as const)('%s', (_title, cases) => {
  test.each(cases)('$what: $error', async ({ error, text, issues }) => {
    const before = await digestOf(target.server.database);
    const [response, ...more] = await sendRaw(target.server.url, Buffer.from(text.replaceAll('KEY', target.key), 'latin1'));
    expectRejected(response!, error, issues);
    expect(response!.headers.get('allow')).toBe(error === 'method_not_allowed' ? 'POST' : null);
    expect(response!.headers.get('www-authenticate')).toBe(error === 'unauthorized' ? 'Bearer' : null);
    for (const { status } of more) expect(status).toBe(400);
    expect(await digestOf(target.server.database)).toEqual(before);
  });
});

describe('the methods of a path', () => {
  const request = async (method: string, path: string) => {
    const [response] = await sendRaw(
      target.server.url,
      httpText(`${method} ${path} HTTP/1.1`, HEADERS).replaceAll('KEY', target.key),
    );
    return [response!.status, response!.headers.get('allow')];
  };

  test.each(PATH_SPELLINGS)(
    '%s (the path of audit entries) accepts only POST, and a 405 response names POST in Allow',
    async (path) => {
      expect(await request('POST', path)).toEqual([422, null]);
      for (const method of ['GET', 'OPTIONS', 'PROPFIND'])
        expect([method, await request(method, path)]).toEqual([method, [405, 'POST']]);
    },
  );

  test.each(['/livez', '/readyz', '/metrics', '/openapi.json', '/docs', '/.well-known/jwks.json', '/%6civez'])(
    '%s accepts only GET and HEAD, and a 405 response names both in Allow',
    async (path) => {
      for (const method of ['POST', 'DELETE', 'OPTIONS', 'MKCOL']) {
        expect([method, await request(method, path)]).toEqual([method, [405, 'GET, HEAD']]);
      }
    },
  );

  test("responds with 404 to methods other than GET and HEAD at the paths of the portal's pages", async () => {
    for (const method of ['POST', 'DELETE', 'OPTIONS'])
      expect([method, await request(method, '/sign-in')]).toEqual([method, [404, null]]);
  });

  test('responds with 404 to every method at an unknown path, and with 405 to POST at known paths under /api/ledger/', async () => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'PROPFIND']) {
      expect([method, await request(method, '/api/ledger/nope')]).toEqual([method, [404, null]]);
      expect([method, await request(method, '/api/public/nope')]).toEqual([method, [404, null]]);
    }
    for (const path of ['/api/ledger/audit/entries', '/api/ledger/decisions/x/attestation'])
      expect([path, await request('POST', path)]).toEqual([path, [405, 'GET']]);
  });
});

describe('accepts valid HTTP', () => {
  test.each([
    ['HTTP/1.0', httpText(`POST ${paths.audit} HTTP/1.0`, [...headersWithout('Host'), CONTENT_LENGTH], BODY)],
    ['a query string', httpText(`POST ${paths.audit}?trace=%zz&x HTTP/1.1`, [...HEADERS, CONTENT_LENGTH], BODY)],
    ['an encoded letter in the path', httpText('POST /api/public/%61udit HTTP/1.1', [...HEADERS, CONTENT_LENGTH], BODY)],
    ['a whole URL in the request line', httpText(`POST http://x${paths.audit} HTTP/1.1`, [...HEADERS, CONTENT_LENGTH], BODY)],
    ['an unknown expectation', httpText(POST_AUDIT, [...HEADERS, 'Expect: a-miracle', CONTENT_LENGTH], BODY)],
    ['100-continue', httpText(POST_AUDIT, [...HEADERS, 'Expect: 100-continue', CONTENT_LENGTH], BODY)],
    ['chunks with extensions and trailers', httpText(POST_AUDIT, [...HEADERS, 'Transfer-Encoding: chunked'], chunked(BODY))],
    ['1,000 short headers', httpText(POST_AUDIT, [...HEADERS, CONTENT_LENGTH, ...Array(995).fill('a: b')], BODY)],
    ['empty lines before the request', `\r\n\r\n${httpText(POST_AUDIT, [...HEADERS, CONTENT_LENGTH], BODY)}`],
    [
      'header names in any letter case',
      httpText(
        POST_AUDIT,
        [...HEADERS, CONTENT_LENGTH].map((line) => line.replace(/^[^:]+/, (name) => name.toUpperCase())),
        BODY,
      ),
    ],
  ])('%s', async (_what, text) => {
    const responses = await sendRaw(target.server.url, text.replace('KEY', target.key));
    expect(responses.map(({ status, body }) => [status, body.ok])).toEqual([[200, true]]);
  });

  test('responds to two requests in one packet in their order', async () => {
    const first = httpText(POST_AUDIT, [...HEADERS.slice(0, -1), CONTENT_LENGTH], BODY);
    const responses = await sendRaw(
      target.server.url,
      (first + httpText(POST_AUDIT, [...HEADERS, 'Content-Length: 2'], '{}')).replaceAll('KEY', target.key),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 422]);
  });

  test('responds to HEAD as to GET, without a body; responds with 405 to HEAD at routes that stream, and to CONNECT', async () => {
    const head = await fetch(target.server.url + paths.audit, { method: 'HEAD' });
    expect([head.status, head.headers.get('allow'), await head.text()]).toEqual([405, 'POST', '']);
    for (const path of [
      '/livez',
      '/readyz',
      '/docs',
      '/openapi.json',
      '/metrics',
      '/.well-known/jwks.json',
      '/',
      '/nowhere',
      '/api/ledger/nowhere',
      '/api/ledger/audit/entries',
    ]) {
      const [getResponse, headResponse] = await Promise.all([
        fetch(target.server.url + path),
        fetch(target.server.url + path, { method: 'HEAD' }),
      ]);
      const expectedStatus = path === '/api/ledger/audit/entries' ? 405 : getResponse.status; // a route that streams accepts only GET
      expect([path, headResponse.status, headResponse.headers.get('content-type'), await headResponse.text()]).toEqual([
        path,
        expectedStatus,
        getResponse.headers.get('content-type'),
        '',
      ]);
    }
    const [connected] = await sendRaw(target.server.url, httpText('CONNECT x:443 HTTP/1.1', HEADERS));
    expectRejected(connected!, 'method_not_allowed');
  });
});

function chunked(body: string): string {
  return `5;name=value\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\nX-Trailer: x\r\n\r\n`;
}
