import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { isBrowser, refuseBrowser } from '../src/browser-guard.ts';
import { type ClientOptions, ConfigurationError, Countersign, VERSION } from '../src/index.ts';
import { environmentVariable } from '../src/runtime/environment.ts';
import { countingFetch } from './fixtures/counting-fetch.ts';

const apiKey = `aa_live_5f0c2a9be671.verysecretsecret${'x'.repeat(27)}`;
const clientOf = (options: Partial<ClientOptions>) =>
  new Countersign({ baseUrl: 'https://countersign.example', apiKey, ...options });

describe('options', () => {
  test.each<[string, Partial<ClientOptions>, RegExp]>([
    ['no address', { baseUrl: 'countersign.example' }, /baseUrl must be an address/],
    ['another protocol', { baseUrl: 'ftp://countersign.example' }, /baseUrl must be an address/],
    ['a key in the address', { baseUrl: 'https://user:secret@countersign.example' }, /must not contain a user, password/],
    ['plain http beyond this machine', { baseUrl: 'http://countersign.example' }, /unencrypted/],
    ['no key', { apiKey: undefined as never }, /apiKey must be/],
    ['an empty key', { apiKey: '' }, /apiKey must be/],
    ['a key that is none', { apiKey: 'sk-proj-verysecretsecret' }, /apiKey must be an ingestion key/],
    ['a key that was cut off', { apiKey: apiKey.slice(0, -1) }, /apiKey must be an ingestion key/],
    ['a read token', { apiKey: apiKey.replace('live', 'read') }, /a read token/],
    ['a key with a line end', { apiKey: `${apiKey}\n` }, /apiKey must be/],
    ['a timeout of nothing', { timeoutMs: 0 }, /timeoutMs must be a number above 0, got 0/],
    ['a batch that the service would refuse', { telemetry: { batchEventsMax: 201 } }, /from 1 to 200/],
    ['an unknown option', { timeoutMS: 3 } as never, /unknown option timeoutMS; the options are .*timeoutMs/],
    ['one of telemetry', { telemetry: { batchMax: 3 } as never }, /unknown option telemetry\.batchMax/],
    [
      'one of retries',
      { retries: { attempts: 3 } as never },
      /unknown option retries\.attempts; the options are retries\.attemptsMax/,
    ],
    ['one of traces', { traces: { onunsent: () => undefined } as never }, /unknown option traces\.onunsent/],
    ['attempts that are none', { retries: { attemptsMax: 0 } }, /retries.attemptsMax/],
  ])('%s is refused with what is wrong, and never with the key', (_, options, message) => {
    const make = () => clientOf(options);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secretsecret/);
  });

  test.each([
    ['https://countersign.example', 'https://countersign.example/api/public/audit'],
    ['https://countersign.example/', 'https://countersign.example/api/public/audit'],
    ['https://example.com/countersign/', 'https://example.com/countersign/api/public/audit'],
    ['http://127.0.0.1:7300', 'http://127.0.0.1:7300/api/public/audit'],
    ['http://[::1]:7300', 'http://[::1]:7300/api/public/audit'],
    ['http://localhost:7300', 'http://localhost:7300/api/public/audit'],
  ])('the base address %s makes %s', async (baseUrl, url) => {
    const { fetch, sent } = countingFetch(
      async () => new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } }),
    );
    await clientOf({ baseUrl, fetch }).audit.append({ actor: 'a', action: 'b.c' });
    expect(sent[0]?.url).toBe(url);
    expect(sent[0]?.headers).toMatchObject({ authorization: `Bearer ${apiKey}`, 'user-agent': `countersign-client/${VERSION}` });
  });

  test('plain http to another machine is taken when that is said to be trusted', () => {
    expect(() => clientOf({ baseUrl: 'http://countersign:7300', insecureHttp: true })).not.toThrow();
  });

  test('the key is in nothing that is printed', () => {
    const client = clientOf({});
    expect(inspect(client, { depth: 10, showHidden: true }) + JSON.stringify(client)).not.toContain('secretsecret');
  });

  test('the version that is said is that of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    expect(VERSION).toBe(version);
  });
});

describe('what the environment says', () => {
  afterEach(() => vi.unstubAllEnvs());
  const sent = async (options?: ClientOptions) => {
    const answer = async () => new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } });
    const { fetch, sent } = countingFetch(answer);
    await new Countersign({ fetch, ...options }).audit.append({ actor: 'a', action: 'b.c' });
    return [sent[0]?.url, sent[0]?.headers.authorization];
  };

  test('the address and the key are taken from it, and an option wins', async () => {
    vi.stubEnv('COUNTERSIGN_URL', 'https://countersign.example');
    vi.stubEnv('COUNTERSIGN_API_KEY', `${apiKey}\n`);
    expect(await sent()).toEqual(['https://countersign.example/api/public/audit', `Bearer ${apiKey}`]);
    const other = apiKey.replace('5f0c', '0000');
    expect(await sent({ baseUrl: 'https://other.example', apiKey: other })).toEqual([
      'https://other.example/api/public/audit',
      `Bearer ${other}`,
    ]);
    expect(() => new Countersign()).not.toThrow();
  });

  test('without it, what is missing is named with its variable', () => {
    vi.stubEnv('COUNTERSIGN_URL', '');
    vi.stubEnv('COUNTERSIGN_API_KEY', '');
    expect(() => new Countersign()).toThrow(/baseUrl.*COUNTERSIGN_URL/);
    expect(() => new Countersign({ baseUrl: 'https://x.example' })).toThrow(/apiKey.*COUNTERSIGN_API_KEY/);
  });

  test.each<[string, Parameters<typeof environmentVariable>[1], string | undefined]>([
    ['Node', { process: { versions: { node: '20.0.0' }, env: { X: 'node' } } }, 'node'],
    ['Bun', { Bun: {}, process: { env: { X: 'bun' } } }, 'bun'],
    ['Deno', { Deno: { env: { get: () => 'deno' } } }, 'deno'],
    ['Deno that may not read it', { Deno: { env: { get: () => JSON.parse('{') } } }, undefined],
    ['an edge runtime', {}, undefined],
    ['a page whose bundler brings a process', { process: { env: { X: 'page' } } }, undefined],
  ])('on %s', (_, runtime, expected) => expect(environmentVariable('X', runtime)).toBe(expected));
});

describe('the logger', () => {
  const lines: string[] = [];
  const logger = Object.fromEntries(
    ['debug', 'warn', 'error'].map((level) => [level, (line: string) => void lines.push(`${level} ${line}`)]),
  );
  const refusing = async () =>
    new Response(`{"error":"validation_failed","issues":[{"path":"/actor","code":"x","message":"got ${apiKey} in a body"}]}`, {
      status: 422,
      headers: { 'content-type': 'application/json', 'x-request-id': 'req-1' },
    });

  test('hears of attempts, of what waits and of what is lost, and never of a key or a body', async () => {
    lines.length = 0;
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const refused = clientOf({ logger, fetch: refusing });
    await refused.audit.append({ actor: 'private-actor', action: 'b.c' }).catch(() => undefined);
    refused.telemetry.emit({ trace_id: 'private-run', outcome: 'success' });
    await refused.traces.start({ trace_id: 'private-run' }).end();
    await refused.close();
    const away = clientOf({
      logger,
      retries: { attemptsMax: 2, pauseMs: 1 },
      apiKey: () => Promise.reject(new Error(`the vault does not give ${apiKey}`)),
    });
    away.telemetry.emit({ trace_id: 'private-run', outcome: 'success' });
    void away.traces.start({ trace_id: 'private-run' }).end();
    await away.close({ deadlineMs: 2000 });
    expect(lines).toEqual(
      expect.arrayContaining([
        'debug countersign: POST /api/public/audit: 422 validation_failed (request req-1)',
        'error countersign: a run was rejected: 422 validation_failed at /actor: x',
        expect.stringMatching(/^warn countersign: attempt 1 failed, next attempt in \d+ ms: ConnectionError/),
        expect.stringMatching(/^warn countersign: 1 telemetry events wait/),
        expect.stringMatching(/^warn countersign: 1 run waits to be sent/),
        'error countersign: a run was dropped: unsent',
        'error countersign: 1 telemetry events were dropped: unsent',
      ]),
    );
    expect(lines.join('\n')).not.toMatch(/secretsecret|private-|in a body/);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test('may fail, and nothing else does', async () => {
    const failing = { debug: () => Promise.reject(new Error('disk full')), error: () => JSON.parse('{') };
    const client = clientOf({ logger: failing, fetch: refusing });
    expect(await client.traces.start().end()).toBeUndefined();
    await client.close();
  });
});

describe('the browser guard', () => {
  test.each([
    ['a page', { document: {} }, true],
    ['a page whose bundler brings a process', { document: {}, process: { versions: {} } }, true],
    ['a worker of a page', { importScripts: () => undefined }, true],
    ['Node', { process: { versions: { node: '20.0.0' } } }, false],
    ['Node with a simulated page', { document: {}, process: { versions: { node: '20.0.0' } } }, false],
    ['Deno', { Deno: {}, document: undefined }, false],
    ['Bun', { Bun: {} }, false],
    ['an edge runtime', {}, false],
  ])('%s: browser %s', (_, runtime, expected) => {
    expect(isBrowser(runtime)).toBe(expected);
    if (expected) expect(() => refuseBrowser(runtime)).toThrow(ConfigurationError);
  });
});
