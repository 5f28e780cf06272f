import { beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { httpText, sendRaw } from './raw-socket.ts';
import { GOOD } from './rejections.ts';

let server: TestServer;
let headers: string[];

beforeAll(async () => {
  server = await testServer();
  const key = await server.key(await server.workspace());
  headers = ['Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
});

const BODY = JSON.stringify(GOOD.entry);
const validRequest = (): string => httpText(`POST ${paths.audit} HTTP/1.1`, [...headers, `Content-Length: ${BODY.length}`], BODY);
const statusesOf = async (bytes: string) => (await sendRaw(server.url, bytes)).map(({ status }) => status);

describe('the server responds to a valid request before it rejects the bytes after it (RFC 9112, section 9.3.2)', () => {
  test.each([
    ['one byte too many', () => `${validRequest()}}`, [200, 400]],
    ['bytes that are not a request', () => `${validRequest()}garbage\r\n\r\n`, [200, 400]],
    [
      'bytes that are not a request, after two requests',
      () => `${validRequest()}${validRequest()}garbage\r\n\r\n`,
      [200, 200, 400],
    ],
    [
      'headers that are too large',
      () => validRequest() + httpText('POST / HTTP/1.1', [`X-Name: ${'x'.repeat(20_000)}`]),
      [200, 431],
    ],
    ['many bytes that are not a request', () => `${validRequest()}${'garbage\r\n'.repeat(100_000)}`, [200, 400]],
    [
      'an invalid chunk',
      () => validRequest() + httpText(`POST ${paths.audit} HTTP/1.1`, [...headers, 'Transfer-Encoding: chunked'], 'x'),
      [200, 400],
    ],
    ['CONNECT', () => validRequest() + httpText('CONNECT x:443 HTTP/1.1', ['Host: x']), [200, 405]],
  ])('%s', async (_what, bytes, expected) => {
    expect(await statusesOf(bytes())).toEqual(expected);
  });

  test('the server sends no response to bytes after a request with Connection: close', async () => {
    const last = httpText(
      `POST ${paths.audit} HTTP/1.1`,
      [...headers, 'Connection: close', `Content-Length: ${BODY.length}`],
      BODY,
    );
    expect(await statusesOf(`${validRequest()}${last}garbage\r\n\r\n`)).toEqual([200, 200]);
  });
});

test('the server sends one response to a request that is rejected and also has an invalid body', async () => {
  const rejected = httpText(`POST ${paths.audit} HTTP/1.1`, ['Host: x', 'Transfer-Encoding: chunked'], 'x');
  expect(await statusesOf(validRequest() + rejected)).toEqual([200, 401]);
});
