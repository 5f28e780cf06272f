import { beforeAll, describe, expect, test } from 'vitest';
import { httpText, sendRaw } from '../bad-input/raw-socket.ts';
import { expectRejected } from '../bad-input/rejections.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let serverForAnyHost: TestServer;
let serverWithUrl: TestServer;
let serverBehindProxy: TestServer;

beforeAll(async () => {
  serverForAnyHost = await testServer();
  const publicUrl = 'https://countersign.example.com';
  const allowedHosts = ['Countersign.internal'];
  serverWithUrl = await testServer({ database: serverForAnyHost.database, publicUrl, allowedHosts });
  serverBehindProxy = await testServer({ database: serverForAnyHost.database, publicUrl, behindProxy: true });
});

/** The status of the server's response to a HEAD request with this Host. */
async function statusFor(
  server: TestServer,
  host: string,
  target = '/openapi.json',
  headers: readonly string[] = [],
): Promise<number> {
  const text = httpText(`HEAD ${target} HTTP/1.1`, [`Host: ${host}`, 'Connection: close', ...headers]);
  const [response] = await sendRaw(server.url, text);
  return response!.status;
}

const OWN_HOSTS = [
  'countersign.example.com',
  'countersign.example.com:443',
  'Countersign.Example.COM',
  'countersign.example.com.',
  'countersign.internal:7300',
  'localhost:7300',
  '127.0.0.1',
  '127.0.0.53:7300',
  '[::1]:7300',
];
const OTHER_HOSTS = [
  'evil.example',
  'countersign.example.com.evil.example',
  'evil.countersign.example.com',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '10.1.2.3',
  '[2001:db8::1]',
  '',
];

describe('a server with COUNTERSIGN_PUBLIC_URL', () => {
  test.each(OWN_HOSTS)('accepts a request for the host %s', async (host) => {
    expect(await statusFor(serverWithUrl, host)).toBe(200);
  });

  test.each(OTHER_HOSTS)('responds with 421 to a request for the host "%s" on every path except the probes', async (host) => {
    for (const path of ['/openapi.json', '/', '/metrics', paths.audit, '/api/portal/session', '/nothing'])
      expect([path, await statusFor(serverWithUrl, host, path)]).toEqual([path, 421]);
    for (const path of ['/livez', '/readyz']) expect([path, await statusFor(serverWithUrl, host, path)]).toEqual([path, 200]);
  });

  test('checks the host before the key and says what to do', async () => {
    const [response] = await sendRaw(
      serverWithUrl.url,
      httpText(`POST ${paths.audit} HTTP/1.1`, ['Host: evil.example', 'Connection: close', 'Content-Length: 0']),
    );
    expectRejected(response!, 'wrong_host', [' bad_header']);
    const { message } = response!.body.issues[0];
    expect(message).toContain('accepts requests for countersign.example.com, not for "evil.example"');
    expect(message).toContain('COUNTERSIGN_ALLOWED_HOSTS');
  });

  test('uses the host of an absolute URL in the request line instead of the header Host', async () => {
    expect(await statusFor(serverWithUrl, 'countersign.example.com', 'http://evil.example/openapi.json')).toBe(421);
    expect(await statusFor(serverWithUrl, 'evil.example', 'http://countersign.example.com/openapi.json')).toBe(200);
  });

  test('behind a proxy, Host and X-Forwarded-Host must name allowed hosts; without a proxy, X-Forwarded-Host is ignored', async () => {
    const forwardedStatus = (server: TestServer, host: string, forwardedHost: string) =>
      statusFor(server, host, '/openapi.json', [`X-Forwarded-Host: ${forwardedHost}`]);
    expect(await forwardedStatus(serverBehindProxy, 'localhost', 'countersign.example.com')).toBe(200);
    expect(await forwardedStatus(serverBehindProxy, 'evil.example', 'countersign.example.com')).toBe(421);
    expect(await forwardedStatus(serverBehindProxy, 'countersign.example.com', 'evil.example')).toBe(421);
    expect(await forwardedStatus(serverBehindProxy, 'localhost', 'countersign.example.com, evil.example')).toBe(421);
    expect(await forwardedStatus(serverWithUrl, 'evil.example', 'countersign.example.com')).toBe(421);
  });
});

test('without COUNTERSIGN_PUBLIC_URL and COUNTERSIGN_ALLOWED_HOSTS, the server accepts every well-formed or empty host', async () => {
  for (const host of [...OWN_HOSTS, ...OTHER_HOSTS]) expect([host, await statusFor(serverForAnyHost, host)]).toEqual([host, 200]);
});
