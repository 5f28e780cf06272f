import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../../../server/test/fixtures/run-command.ts';
import { type TestServer, testServer } from '../../../server/test/harness/test-server.ts';
import { runCli, type TerminalOverrides } from '../fixtures/run-cli.ts';
import { respondWith, stubServer } from '../fixtures/stub-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;
beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace('acme');
  key = await server.key(tenantId);
});

interface Finding {
  what: string;
  ok: boolean | null;
  says: string;
  remedy?: string;
}

const doctor = async (variables: Record<string, string>, args: string[] = [], overrides: TerminalOverrides = {}) => {
  const environment = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key, ...variables };
  const { status, out, err } = await runCli(['doctor', '--json', ...args], { environment, ...overrides });
  expect(err).toBe('');
  const { findings } = JSON.parse(out) as { findings: Finding[] };
  return { status, findings, bad: findings.filter(({ ok }) => ok === false) };
};

describe('doctor', () => {
  test('passes a correct setup and records nothing', async () => {
    const tables = ['agents', 'audit_entries', 'decisions', 'evaluations', 'evidence_events', 'telemetry_submissions', 'traces'];
    const counts = tables.map((table) => `(SELECT count(*) FROM countersign.${table}) AS ${table}`).join(', ');
    const rows = () => server.database.sql(`SELECT ${counts}`);
    const before = await rows();
    const { status, findings } = await doctor({});
    expect(status).toBe(0);
    expect(findings.map(({ what, ok }) => [what, ok])).toEqual([
      ['address', true],
      ['key', true],
      ['verify key', null],
      ['TLS', true],
      ['service', true],
      ['clock', true],
      ...['telemetry', 'evaluations', 'audit', 'governance'].map((scope) => [`scope ${scope}`, true]),
    ]);
    expect(await rows()).toEqual(before);
    const textOutput = await runCli(['doctor'], { environment: { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: key } });
    expect(textOutput.out).toContain('ok    service');
    expect(textOutput.out).toContain('note  verify key          none given: signatures are not checked');
    expect(textOutput.out).not.toContain(key.split('.')[1]);
  });

  test.each([
    'https://ci:hunter2@127.0.0.1:9',
    'ci:hunter2@127.0.0.1:9',
    '//hunter2@127.0.0.1:9',
    'https://127.0.0.1:9/?token=hunter2',
  ])('does not print the secret in the address %s', async (COUNTERSIGN_URL) => {
    const environment = { COUNTERSIGN_URL, COUNTERSIGN_API_KEY: key };
    for (const command of [['doctor'], ['doctor', '--json'], ['gate', '--agent', 'bot']]) {
      const { out, err } = await runCli(command, { environment });
      expect(out + err).toContain('must not contain a user, password, query or fragment');
      expect(out + err).not.toContain('hunter2');
    }
  });

  test('reports a missing scope as bad only when it is required', async () => {
    const narrowKey = { COUNTERSIGN_API_KEY: await server.key(tenantId, ['evaluations']) };
    const { status, bad } = await doctor(narrowKey);
    expect([status, bad]).toEqual([
      1,
      [expect.objectContaining({ what: 'scope governance', remedy: expect.stringContaining('mint a key') })],
    ]);
    expect((await doctor(narrowKey, ['--scopes', 'evaluations'])).status).toBe(0);
  });

  test('reports a scope that cannot be checked as bad only if the scope is required', async () => {
    const rateLimitedFetch: typeof fetch = (url, request) =>
      String(url).includes('/api/public/')
        ? Promise.resolve(Response.json({ error: 'rate_limited' }, { status: 429 }))
        : fetch(url, request);
    const { status, bad } = await doctor({}, ['--scopes', 'evaluations'], { fetch: rateLimitedFetch });
    expect([status, bad.map(({ what }) => what)]).toEqual([1, ['scope evaluations']]);
  });

  test('reports a public key of another service as bad, one of this service as good, and a decision key as a note', async () => {
    const keyFinding = async (verifyKey: string) =>
      (await doctor({ COUNTERSIGN_VERIFY_KEY: verifyKey }, ['--workspace', tenantId])).findings
        .filter(({ what }) => what === 'verify key')
        .at(-1);
    const ownKey = (await runCommand(environmentOf(server), 'signing-key', 'show', '--vkey')).out.trim();
    expect(await keyFinding(ownKey)).toMatchObject({ ok: true, says: 'matches a signing key of this service' });
    const otherKey = 'countersign/d7a1e6c0-3b52-4f8e-9c41-0e6b2a7f5d93+04896c43+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';
    expect(await keyFinding(otherKey)).toMatchObject({ ok: false, remedy: expect.stringContaining('trust show') });
    expect(await keyFinding('ab'.repeat(32))).toMatchObject({
      ok: null,
      says: expect.stringMatching(/^readable; only a decision shows/),
    });
  });

  test('reports a trust file as a note if its key was retired, but a chain of signatures proves the current key', async () => {
    const vector = (name: string) =>
      readFileSync(new URL(`../../../../examples/verify/hostile/succession-${name}`, import.meta.url), 'utf8');
    const { successors: _, ...file } = JSON.parse(vector('trust-file.json'));
    const keyFinding = async (jwks: string) => {
      const fetch: typeof globalThis.fetch = async (url) =>
        new Response(String(url).endsWith('/jwks.json') ? jwks : '{}', { headers: { 'x-request-id': 'req-1' } });
      const { findings } = await doctor({ COUNTERSIGN_TRUST: JSON.stringify(file) }, [], { fetch });
      return findings.filter(({ what }) => what === 'verify key').at(-1);
    };
    const jwks = vector('whole.jwks');
    expect(await keyFinding(jwks)).toMatchObject({
      ok: null,
      says: expect.stringContaining('the gate accepts decisions of this service'),
      remedy: expect.stringContaining('trust show'),
    });
    const unproven = {
      keys: JSON.parse(jwks).keys.map(({ predecessor_signature: _, ...each }: Record<string, unknown>) => each),
    };
    expect(await keyFinding(JSON.stringify(unproven))).toMatchObject({ ok: false });
  });

  test.each([
    [
      'a malformed key',
      { COUNTERSIGN_API_KEY: 'aa_live_x' },
      'key',
      /^set COUNTERSIGN_API_KEY to the key exactly as it was printed/,
    ],
    ['an invalid verify key', { COUNTERSIGN_VERIFY_KEY: 'hello' }, 'verify key', /^give the trust file/],
    ['a missing address', { COUNTERSIGN_URL: '' }, 'address', /^set COUNTERSIGN_URL or --url to the address/],
  ])('reports only %s and gives a remedy', async (_what, variables, what, remedy) => {
    const { bad } = await doctor(variables as Record<string, string>);
    expect(bad).toEqual([{ what, ok: false, says: expect.any(String), remedy: expect.stringMatching(remedy) }]);
  });

  test('reports a revoked key as bad for every scope and suggests a new key', async () => {
    const revoked = await server.key(tenantId);
    await runCommand(environmentOf(server), 'keys', 'revoke', '--workspace', 'acme', revoked.slice(8, 20));
    const { bad } = await doctor({ COUNTERSIGN_API_KEY: revoked });
    expect(bad).toEqual(
      ['telemetry', 'evaluations', 'audit', 'governance'].map((scope) => ({
        what: `scope ${scope}`,
        ok: false,
        says: expect.stringContaining('revoked'),
        remedy: expect.stringContaining('mint a new key'),
      })),
    );
  });

  test.each([
    ['no address', { COUNTERSIGN_URL: '' }, 'address', /set --url or COUNTERSIGN_URL/],
    ['an invalid address', { COUNTERSIGN_URL: 'localhost' }, 'address', /is not a valid address/],
    ['no key', { COUNTERSIGN_API_KEY: '' }, 'key', /set COUNTERSIGN_API_KEY/],
    ['a malformed key', { COUNTERSIGN_API_KEY: 'aa_live_x' }, 'key', /must have the form/],
    ['an invalid verify key', { COUNTERSIGN_VERIFY_KEY: 'hello' }, 'verify key', /invalid key/],
    ['a key that would be sent unencrypted', { COUNTERSIGN_URL: 'http://countersign.invalid' }, 'TLS', /unencrypted/],
    ['a name that does not resolve', { COUNTERSIGN_URL: 'https://countersign.invalid' }, 'service', /cannot be reached/],
  ])('reports %s', async (_what, variables, what, message) => {
    const { status, bad } = await doctor(variables as Record<string, string>, ['--timeout', '5s']);
    expect(status).toBe(1);
    expect(bad.find((finding) => finding.what === what)?.says).toMatch(message);
  });

  test('sends the key to another machine without TLS only with --insecure-http', async () => {
    const urlsWithKey: string[] = [];
    const fetch: typeof globalThis.fetch = async (url, { headers } = {}) => {
      if (new Headers(headers).has('authorization')) urlsWithKey.push(String(url));
      const [status, body] = String(url).endsWith('/readyz') ? [200, '{}'] : [422, '{"error":"validation_failed"}'];
      return new Response(body, { status, headers: { 'x-request-id': 'req-1' } });
    };
    for (const host of ['host.example', 'host.localhost']) {
      const variables = { COUNTERSIGN_URL: `http://${host}` };
      const { status, bad } = await doctor(variables, [], { fetch });
      expect([status, bad.map(({ what }) => what), urlsWithKey.splice(0)]).toEqual([1, ['TLS'], []]);
      expect((await doctor(variables, ['--insecure-http'], { fetch })).status).toBe(0);
      expect(urlsWithKey.splice(0)).toHaveLength(4);
    }
  });

  test('gives the remedy for a closed port, a server without TLS, a wrong path, a web page and a redirect', async () => {
    const closedServer = createServer().listen(0, '127.0.0.1');
    await once(closedServer, 'listening');
    const { port } = closedServer.address() as AddressInfo;
    closedServer.close();
    const stub = await stubServer();
    const remedyFor = async (url: string) =>
      (await doctor({ COUNTERSIGN_URL: url })).bad.find(({ what }) => what === 'service')?.remedy;
    expect(await remedyFor(`http://127.0.0.1:${port}`)).toContain('nothing listens there');
    expect(await remedyFor(server.url.replace('http:', 'https:'))).toContain('TLS');
    const tls = (await doctor({ COUNTERSIGN_URL: server.url.replace('http:', 'https:') })).bad.at(-1)!.says;
    expect(tls).toMatch(/^cannot be reached: E[A-Z_]+: [a-z ]+$/);
    expect(await remedyFor(`${server.url}/foo`)).toContain('only host and port');
    stub.respond = respondWith('<html>sign in</html>', 200, { 'content-type': 'text/html' });
    expect(await remedyFor(stub.url)).toContain('proxy');
    stub.respond = respondWith('', 302, { location: 'https://elsewhere.example' });
    expect(await remedyFor(stub.url)).toContain('final address');
  });

  test.each([
    ['a host that the server does not accept', 421, '{"error":"wrong_host","issues":[]}', 'COUNTERSIGN_ALLOWED_HOSTS'],
    ['a proxy that requires a sign-in', 401, 'sign in', 'check for a proxy'],
  ])('gives the remedy for %s', async (_what, rejection, text, remedy) => {
    const stub = await stubServer();
    stub.respond = ({ url }, _body, response) => {
      const [status, body] = url === '/readyz' ? [200, '{"status":"ready"}'] : [rejection, text];
      response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-1' }).end(body);
    };
    const { bad } = await doctor({ COUNTERSIGN_URL: stub.url });
    expect(bad).toEqual(Array(4).fill(expect.objectContaining({ remedy: expect.stringContaining(remedy) })));
  });

  test('reports clocks that differ by 45 seconds as a note and by 10 minutes as bad', async () => {
    const clock = async (ms: number) =>
      (await doctor({}, [], { now: () => Date.now() + ms })).findings.find(({ what }) => what === 'clock');
    expect(await clock(0)).toMatchObject({ ok: true });
    expect(await clock(45_000)).toMatchObject({ ok: null, remedy: expect.stringContaining('NTP') });
    expect(await clock(-600_000)).toMatchObject({ ok: false, says: expect.stringContaining('ahead of this machine') });
  });
});
