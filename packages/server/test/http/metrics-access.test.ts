import { get as httpGet } from 'node:http';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../../../attack/loopback.ts';
import { checkAddress, listenFailure } from '../../src/app/listen-address.ts';
import { metricsAddress } from '../../src/app/metrics-listener.ts';
import { readConfig } from '../../src/config/config.ts';
import { isPublic } from '../../src/config/public-address.ts';
import { metricsAccess } from '../../src/http/metrics-endpoint.ts';
import { createDatabaseEnvironment } from '../fixtures/cloned-database.ts';
import { ServerProcess } from '../fixtures/server-process.ts';
import { testServer } from '../harness/test-server.ts';

const TOKEN = 'scraper-token-0123456789';

const get = async (url: string, token?: string, method = 'GET') => {
  const response = await fetch(`${url}/metrics`, {
    method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const status = async (url: string, token?: string, method = 'GET') => (await get(url, token, method)).status;

test.each([
  ['loopback', { port: undefined, token: undefined, isPublic: false }, 'open'],
  ['a public listener', { port: undefined, token: undefined, isPublic: true }, 'absent'],
  ['a public listener with a token', { port: undefined, token: TOKEN, isPublic: true }, { token: TOKEN }],
  ['loopback with a token', { port: undefined, token: TOKEN, isPublic: false }, { token: TOKEN }],
  ['a listener with a separate port for metrics', { port: 9300, token: TOKEN, isPublic: false }, 'absent'],
] as const)('metricsAccess gives other machines no access without a token: %s', (_where, config, access) => {
  expect(metricsAccess(config)).toEqual(access);
});

test.each([
  ['loopback', {}, false],
  ['loopback with a public URL on loopback', { COUNTERSIGN_PUBLIC_URL: 'http://localhost:7300' }, false],
  [
    'loopback by its IPv6 address',
    { COUNTERSIGN_PUBLIC_URL: 'http://[::1]:7300', COUNTERSIGN_ALLOWED_HOSTS: '[::1],127.0.0.1' },
    false,
  ],
  ['loopback with a public URL of another host', { COUNTERSIGN_PUBLIC_URL: 'https://countersign.example.com' }, true],
  [
    'loopback with an allowed host name that is not loopback',
    { COUNTERSIGN_ALLOWED_HOSTS: 'localhost,countersign.internal' },
    true,
  ],
  ['loopback behind a proxy', { COUNTERSIGN_BEHIND_PROXY: 'true' }, true],
  ['every address', { COUNTERSIGN_HOST: '0.0.0.0', COUNTERSIGN_BEHIND_PROXY: 'true' }, true],
])('isPublic for a listener on %s (%j) is %s', (_where, environment, expected) => {
  expect(isPublic(readConfig(environment as Record<string, string>))).toBe(expected);
});

test('with a public URL of another host and no token, /metrics on loopback is 404, because a proxy may forward requests', async () => {
  const database = (await testServer()).database;
  const settings = { database, publicUrl: 'https://countersign.example.com' };
  const { url } = await testServer(settings);
  for (const method of ['GET', 'HEAD', 'POST']) expect([method, await status(url, undefined, method)]).toEqual([method, 404]);
  const { url: withToken } = await testServer({ ...settings, metricsToken: TOKEN });
  expect([await status(withToken), await status(withToken, TOKEN)]).toEqual([401, 200]);
});

test('behind a proxy, on loopback or on every address, /metrics is 404 for GET, HEAD and POST by default', async () => {
  const database = (await testServer()).database;
  for (const settings of [{ behindProxy: true }, { host: '0.0.0.0', behindProxy: true }]) {
    const { url } = await testServer({ database, ...settings });
    for (const method of ['GET', 'HEAD', 'POST']) expect([method, await status(url, undefined, method)]).toEqual([method, 404]);
    expect(JSON.parse((await get(url)).text)).toEqual({ error: 'not_found', issues: [] });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
  }
});

test('if a token is set, /metrics responds with 200 to requests with the token, for any host, and with 401 to other requests', async () => {
  const { url } = await testServer({ behindProxy: true, metricsToken: TOKEN, publicUrl: 'https://countersign.example.com' });
  expect(await status(url, TOKEN)).toBe(200);
  const byAddress = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${TOKEN}`, 'x-forwarded-host': '10.0.0.7' },
  });
  expect([byAddress.status, await byAddress.text()]).toEqual([200, expect.stringContaining('countersign_connections')]);
  for (const wrongToken of [undefined, '', TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase()]) {
    const { status: code, headers, text } = await get(url, wrongToken);
    expect([wrongToken, code, headers.get('www-authenticate')]).toEqual([wrongToken, 401, 'Bearer']);
    expect(text).not.toContain('countersign_');
  }
});

test('a separate metrics port serves /metrics and no other path, even when the main port has no free connection', async () => {
  const server = await ServerProcess.start({
    ...(await createDatabaseEnvironment()),
    COUNTERSIGN_METRICS_PORT: '0',
    COUNTERSIGN_METRICS_TOKEN: TOKEN,
    COUNTERSIGN_CONNECTIONS_MAX: '1',
  });
  try {
    const metrics = `http://127.0.0.1:${/"metricsPort":(\d+)/.exec(server.stdout)![1]}`;
    expect(await status(server.url, TOKEN)).toBe(404); // This connection stays open and is the only one allowed.
    expect((await get(metrics, TOKEN)).text).toMatch(/^countersign_connections 1$/m);
    expect(await status(metrics)).toBe(401);
    for (const path of ['/livez', '/', '/api/portal/session', '/openapi.json'])
      expect([path, (await fetch(metrics + path)).status]).toEqual([path, 404]);
    expect((await fetch(`${metrics}/metrics`, { method: 'POST' })).status).toBe(405);
  } finally {
    expect(await server.end('SIGTERM')).toBe(0);
    expect(server.output).not.toContain(TOKEN);
  }
});

test('a separate metrics port without a token rejects the host names of other sites, and with a token accepts any host name', async () => {
  const database = (await testServer()).database;
  const settings = { database, allowedHosts: ['scraper.internal'] };
  const openPort = await freePort('127.0.0.1');
  await testServer({ ...settings, metricsPort: openPort });
  for (const host of ['127.0.0.1', `localhost:${openPort}`, 'scraper.internal'])
    expect([host, await statusForHost(openPort, host)]).toEqual([host, 200]);
  expect(await statusForHost(openPort, 'rebound.example')).toBe(421);
  const tokenPort = await freePort('127.0.0.1');
  await testServer({ ...settings, metricsPort: tokenPort, metricsToken: TOKEN });
  expect(await statusForHost(tokenPort, 'rebound.example', TOKEN)).toBe(200);
});

/** The status of /metrics on this port for a request with this Host header. */
const statusForHost = (port: number, host: string, token = ''): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${token}` };
    httpGet({ host: '127.0.0.1', port, path: '/metrics', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).on('error', reject);
  });

test('a server does not start if its metrics port is in use, and the error names the variable', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => occupant.once('listening', resolve));
  const { port } = occupant.address() as { port: number };
  await expect(testServer({ metricsPort: port })).rejects.toThrow(/port \d+ on 127\.0\.0\.1 is in use.*COUNTERSIGN_METRICS_PORT/);
  occupant.close();
});

test('the error for an address of another machine names COUNTERSIGN_HOST only if that variable sets the address', () => {
  const unavailable = Object.assign(new Error(), { code: 'EADDRNOTAVAIL' });
  const messageOf = (address: Parameters<typeof listenFailure>[1]) => (listenFailure(unavailable, address) as Error).message;
  expect(messageOf({ host: '192.0.2.1', port: 1 })).toBe('COUNTERSIGN_HOST 192.0.2.1 is not an address of this machine');
  expect(messageOf(metricsAddress(9300))).toBe(
    '127.0.0.1 is not an address of this machine, so the port of COUNTERSIGN_METRICS_PORT cannot be used',
  );
});

test('an address that the system rejects is a configuration error, and the message names COUNTERSIGN_HOST', async () => {
  const rejected = checkAddress({ host: 'fe80::1', port: 0 });
  await expect(rejected).rejects.toMatchObject({ reason: 'bad_configuration' });
  await expect(rejected).rejects.toThrow('COUNTERSIGN_HOST fe80::1 is not an address of this machine');
});

test('readConfig accepts a metrics token with a line break at its end, and rejects a short or empty one without printing it', () => {
  expect(readConfig({ COUNTERSIGN_METRICS_TOKEN: `${TOKEN}\n` }).metricsToken).toBe(TOKEN);
  expect(() => readConfig({ COUNTERSIGN_METRICS_TOKEN: 'too-short' })).toThrow(/^(?!.*too-short).*COUNTERSIGN_METRICS_TOKEN/);
  expect(() => readConfig({ COUNTERSIGN_METRICS_TOKEN_FILE: '/dev/null' })).toThrow('COUNTERSIGN_METRICS_TOKEN');
});
