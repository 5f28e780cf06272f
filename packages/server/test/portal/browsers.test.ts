import { beforeAll, describe, expect, test } from 'vitest';
import { Browser, createPerson, PASSWORD, type Person } from '../harness/portal-browser.ts';
import { type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let ada: Person;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace('acme');
  ada = await createPerson(server, { [workspace]: 'admin' }, 'ada@example.com');
});

const outcome = ({ status, body }: TestResponse) => `${status} ${body.error ?? 'ok'}`;

describe('a cross-site request', () => {
  const rename = (headers: Record<string, string>) => ada.browser.call('PATCH', '/account', { name: 'Mallory' }, headers);

  test.each([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['from this host with another scheme', { origin: 'OTHER_SCHEME' }],
    ['from a sandboxed frame', { origin: 'null' }],
    ['without an Origin', { origin: '' }],
    ['with Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
    ['with Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['with Sec-Fetch-Site: none', { 'sec-fetch-site': 'none' }],
  ])('%s is rejected despite the session', async (_who, headers) => {
    const headersToSend = Object.entries(headers).map(([name, value]) => [
      name,
      value.replace('OTHER_SCHEME', server.url.replace('http', 'https')),
    ]);
    expect(outcome(await rename(Object.fromEntries(headersToSend)))).toBe('403 cross_origin');
    expect((await ada.browser.call('GET', '/session')).body.person.name).toBe('ada');
  });

  test('sent as a form is rejected because the body must be JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect(outcome(await ada.browser.call('PATCH', '/account', '{"name":"Mallory"}', { 'content-type': type }))).toBe(
        '415 unsupported_media_type',
      );
    }
  });

  test('with forged forwarding headers is rejected if the server is not behind a proxy', async () => {
    const forwarded = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' };
    expect(outcome(await rename({ origin: 'http://evil.example', ...forwarded }))).toBe('403 cross_origin');
  });

  test('cannot override its method', async () => {
    const disguised = { 'x-http-method-override': 'PATCH', 'x-method-override': 'PATCH', 'x-http-method': 'PATCH' };
    const response = await ada.browser.call('POST', '/account?_method=PATCH', { name: 'Mallory' }, disguised);
    expect(outcome(response)).toBe('405 method_not_allowed');
    expect((await ada.browser.call('GET', '/session')).body.person.name).toBe('ada');
  });

  test('is not assumed when a browser without Sec-Fetch-Site sends the Origin of this server', async () => {
    expect(outcome(await ada.browser.call('PATCH', '/account', { name: 'ada' }, { 'sec-fetch-site': '' }))).toBe('200 ok');
  });

  test('is also rejected if it is a sign-in', async () => {
    const credentials = { email: 'ada@example.com', password: PASSWORD };
    expect(outcome(await new Browser(server).call('POST', '/session', credentials, { origin: 'https://evil.example' }))).toBe(
      '403 cross_origin',
    );
  });

  test('is recognized behind a proxy: only https with the forwarded host is the same origin, and only the cookie __Host-countersign is accepted', async () => {
    const proxied = await testServer({ database: server.database, behindProxy: true });
    const browser = new Browser(proxied);
    const credentials = { email: 'ada@example.com', password: PASSWORD };
    const forwarded = { 'x-forwarded-host': 'countersign.example.com' };
    const response = await browser.call('POST', '/session', credentials, {
      origin: 'https://countersign.example.com',
      ...forwarded,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(
      /^__Host-countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; /,
    );
    expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000');
    const throughTwoProxies = await browser.call('POST', '/session', credentials, {
      origin: 'https://countersign.example.com',
      'x-forwarded-host': 'countersign.example.com, inner.example.com',
    });
    expect(throughTwoProxies.status).toBe(200);
    const byHttp = await browser.call('POST', '/session', credentials, {
      origin: 'http://countersign.example.com',
      ...forwarded,
    });
    expect(outcome(byHttp)).toBe('403 cross_origin');
    expect(outcome(await new Browser(proxied, ada.browser.cookie).call('GET', '/session'))).toBe('401 not_signed_in');
  });
});

test('behind a proxy that forwards another host, requests from pages of the public URL count as same-origin', async () => {
  const proxied = await testServer({ database: server.database, behindProxy: true, publicUrl: 'https://portal.example.com' });
  const credentials = { email: 'ada@example.com', password: PASSWORD };
  const signInFrom = (origin: string) => new Browser(proxied).call('POST', '/session', credentials, { origin });
  expect(outcome(await signInFrom('https://portal.example.com'))).toBe('200 ok');
  expect(outcome(await signInFrom('https://portal.example.com.evil.example'))).toBe('403 cross_origin');
});

const SET_PUBLIC_URL = 'if a proxy changes the header Host, set COUNTERSIGN_PUBLIC_URL to the address that people use';

test.each([
  [
    { publicUrl: 'https://portal.example.com' },
    'http://portal.example.com',
    'open the portal at https://portal.example.com, which COUNTERSIGN_PUBLIC_URL names',
  ],
  [{ behindProxy: true }, 'http://portal.example.com', 'open the portal with https://, because COUNTERSIGN_BEHIND_PROXY is true'],
  [{ behindProxy: true }, 'https://portal.example.com', SET_PUBLIC_URL],
  [{}, 'http://portal.example.com', SET_PUBLIC_URL],
])('a server with %o says which address to use if it rejects a request from a page at %s', async (options, origin, remedy) => {
  const configuredServer = await testServer({ database: server.database, ...options });
  const response = await new Browser(configuredServer).call(
    'POST',
    '/session',
    { email: 'ada@example.com', password: PASSWORD },
    { origin },
  );
  expect(outcome(response)).toBe('403 cross_origin');
  expect(response.body.issues[0].message).toContain(`Origin is not the address of this server; ${remedy}`);
});

test.each([
  ['https://portal.example.com', false, '__Host-countersign', 'max-age=31536000'],
  ['http://127.0.0.1:7300', true, 'countersign', null],
] as const)(
  'the scheme of the public URL %s decides whether the cookie is Secure',
  async (publicUrl, behindProxy, name, hsts) => {
    const configuredServer = await testServer({ database: server.database, behindProxy, publicUrl });
    const browser = new Browser(configuredServer);
    const response = await browser.call(
      'POST',
      '/session',
      { email: 'ada@example.com', password: PASSWORD },
      { origin: publicUrl },
    );
    expect(outcome(response)).toBe('200 ok');
    expect(response.headers.get('set-cookie')!.split('=')[0]).toBe(name);
    expect(response.headers.get('set-cookie')!.includes('; Secure')).toBe(hsts !== null);
    expect(response.headers.get('strict-transport-security')).toBe(hsts);
  },
);

describe('security headers', () => {
  const headersOf = async (path: string, method = 'GET') => (await fetch(server.url + path, { method })).headers;

  test.each([
    ['the page', '/'],
    ['a response of the API', '/api/portal/session'],
    ['a response to a method that the API does not accept', '/api/portal/links/show'],
  ])('prevent framing, sniffing, caching and referrers on %s', async (_what, path) => {
    const headers = await headersOf(path);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('content-security-policy')).not.toMatch(/script-src[^;]*(unsafe|\*|data:|https?:)/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('strict-transport-security')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('allow no other origin to read a response of the API', async () => {
    const response = await ada.browser.call('GET', '/session', undefined, {
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await headersOf('/api/portal/session', 'OPTIONS')).get('access-control-allow-origin')).toBeNull();
  });
});
