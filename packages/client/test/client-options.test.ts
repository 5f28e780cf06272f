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
    ['an address without a protocol', { baseUrl: 'countersign.example' }, /baseUrl must be an address/],
    ['the protocol ftp', { baseUrl: 'ftp://countersign.example' }, /baseUrl must be an address/],
    [
      'a user and a password in the address',
      { baseUrl: 'https://user:secret@countersign.example' },
      /must not contain a user, password/,
    ],
    ['plain http to another machine', { baseUrl: 'http://countersign.example' }, /unencrypted/],
    ['plain http to a name that DNS may resolve', { baseUrl: 'http://countersign.localhost' }, /unencrypted/],
    ['no key', { apiKey: undefined as never }, /apiKey must be/],
    ['an empty key', { apiKey: '' }, /apiKey must be/],
    ['a string that is not a key', { apiKey: 'sk-proj-verysecretsecret' }, /apiKey must be an ingestion key/],
    ['a truncated key', { apiKey: apiKey.slice(0, -1) }, /apiKey must be an ingestion key/],
    ['a read token', { apiKey: apiKey.replace('live', 'read') }, /a read token/],
    ['a key with a line break', { apiKey: `${apiKey}\n` }, /apiKey must be/],
    ['a timeout of 0', { timeoutMs: 0 }, /timeoutMs must be a number above 0, got 0/],
    ['a batch larger than the service accepts', { telemetry: { batchEventsMax: 201 } }, /from 1 to 200/],
    ['an unknown option', { timeoutMS: 3 } as never, /unknown option timeoutMS; the options are .*timeoutMs/],
    ['an unknown option of telemetry', { telemetry: { batchMax: 3 } as never }, /unknown option telemetry\.batchMax/],
    [
      'an unknown option of retries',
      { retries: { attempts: 3 } as never },
      /unknown option retries\.attempts; the options are retries\.attemptsMax/,
    ],
    ['an unknown option of traces', { traces: { onunsent: () => undefined } as never }, /unknown option traces\.onunsent/],
    ['0 attempts', { retries: { attemptsMax: 0 } }, /retries.attemptsMax/],
  ])('with %s are rejected; the message names the reason and contains no key', (_, options, message) => {
    const createClient = () => clientOf(options);
    expect(createClient).toThrow(ConfigurationError);
    expect(createClient).toThrow(message);
    expect(createClient).not.toThrow(/secretsecret/);
  });

  test.each([
    ['https://countersign.example', 'https://countersign.example/api/public/audit'],
    ['https://countersign.example/', 'https://countersign.example/api/public/audit'],
    ['https://example.com/countersign/', 'https://example.com/countersign/api/public/audit'],
    ['http://127.0.0.1:7300', 'http://127.0.0.1:7300/api/public/audit'],
    ['http://[::1]:7300', 'http://[::1]:7300/api/public/audit'],
    ['http://localhost:7300', 'http://localhost:7300/api/public/audit'],
  ])('resolve the base address %s to the URL %s', async (baseUrl, url) => {
    const { fetch, requests } = countingFetch(
      async () => new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } }),
    );
    await clientOf({ baseUrl, fetch }).audit.append({ actor: 'a', action: 'b.c' });
    expect(requests[0]?.url).toBe(url);
    expect(requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'user-agent': `countersign-client/${VERSION}`,
    });
  });

  test('allow plain http to another machine with insecureHttp', () => {
    expect(() => clientOf({ baseUrl: 'http://countersign:7300', insecureHttp: true })).not.toThrow();
  });

  test('are rejected with a ConfigurationError if they are null', () => {
    for (const options of [null, { retries: null }, { telemetry: null }, { traces: null }])
      expect(
        () => new Countersign((options === null ? options : { baseUrl: 'https://x.example', apiKey, ...options }) as never),
      ).toThrow(ConfigurationError);
  });

  test('do not expose the key when a client is printed', () => {
    const client = clientOf({});
    expect(inspect(client, { depth: 10, showHidden: true }) + JSON.stringify(client)).not.toContain('secretsecret');
  });
});

test('VERSION is the version of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(VERSION).toBe(version);
});

describe('environment variables', () => {
  afterEach(() => vi.unstubAllEnvs());
  const sendEntry = async (options?: ClientOptions) => {
    const respond = async () => new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } });
    const { fetch, requests } = countingFetch(respond);
    await new Countersign({ fetch, ...options }).audit.append({ actor: 'a', action: 'b.c' });
    return [requests[0]?.url, requests[0]?.headers.authorization];
  };

  test('set the address and the key, and options override them', async () => {
    vi.stubEnv('COUNTERSIGN_URL', 'https://countersign.example');
    vi.stubEnv('COUNTERSIGN_API_KEY', `${apiKey}\n`);
    expect(await sendEntry()).toEqual(['https://countersign.example/api/public/audit', `Bearer ${apiKey}`]);
    const otherKey = apiKey.replace('5f0c', '0000');
    expect(await sendEntry({ baseUrl: 'https://other.example', apiKey: otherKey })).toEqual([
      'https://other.example/api/public/audit',
      `Bearer ${otherKey}`,
    ]);
    expect(() => new Countersign()).not.toThrow();
  });

  test('are named in the error when the address or the key is missing', () => {
    vi.stubEnv('COUNTERSIGN_URL', '');
    vi.stubEnv('COUNTERSIGN_API_KEY', '');
    expect(() => new Countersign()).toThrow(/baseUrl.*COUNTERSIGN_URL/);
    expect(() => new Countersign({ baseUrl: 'https://x.example' })).toThrow(/apiKey.*COUNTERSIGN_API_KEY/);
  });

  test.each<[string, Parameters<typeof environmentVariable>[1], string | undefined]>([
    ['Node', { process: { versions: { node: '20.0.0' }, env: { X: 'node' } } }, 'node'],
    ['Bun', { Bun: {}, process: { env: { X: 'bun' } } }, 'bun'],
    ['Deno', { Deno: { env: { get: () => 'deno' } } }, 'deno'],
    ['Deno without permission', { Deno: { env: { get: () => JSON.parse('{') } } }, undefined],
    ['an edge runtime', {}, undefined],
    ['a web page with a bundled process object', { process: { env: { X: 'page' } } }, undefined],
  ])('are read only on Node, Bun and Deno: %s', (_, runtime, expected) =>
    expect(environmentVariable('X', runtime)).toBe(expected),
  );
});

describe('logger', () => {
  const lines: string[] = [];
  const logger = Object.fromEntries(
    ['debug', 'warn', 'error'].map((level) => [level, (line: string) => void lines.push(`${level} ${line}`)]),
  );
  const rejectingFetch = async () =>
    new Response(`{"error":"validation_failed","issues":[{"path":"/actor","code":"x","message":"got ${apiKey} in a body"}]}`, {
      status: 422,
      headers: { 'content-type': 'application/json', 'x-request-id': 'req-1' },
    });

  test('receives lines about attempts, queued records and lost records, without a key or a body', async () => {
    lines.length = 0;
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const rejected = clientOf({ logger, fetch: rejectingFetch });
    await rejected.audit.append({ actor: 'private-actor', action: 'b.c' }).catch(() => undefined);
    rejected.telemetry.emit({ trace_id: 'private-run', outcome: 'success' });
    await rejected.traces.start({ trace_id: 'private-run' }).end();
    await rejected.close();
    const unreachable = clientOf({
      logger,
      retries: { attemptsMax: 2, pauseMs: 1 },
      apiKey: () => Promise.reject(new Error(`the vault does not give ${apiKey}`)),
    });
    unreachable.telemetry.emit({ trace_id: 'private-run', outcome: 'success' });
    void unreachable.traces.start({ trace_id: 'private-run' }).end();
    await unreachable.close({ deadlineMs: 2000 });
    expect(lines).toEqual(
      expect.arrayContaining([
        'debug countersign: POST /api/public/audit: 422 validation_failed (request req-1)',
        'error countersign: a run was rejected: 422 validation_failed at /actor: x',
        expect.stringMatching(/^warn countersign: attempt 1 failed, next attempt in \d+ ms: ConnectionError/),
        expect.stringMatching(/^warn countersign: 1 telemetry event is queued/),
        expect.stringMatching(/^warn countersign: 1 run waits to be sent/),
        'error countersign: a run was dropped: unsent',
        'error countersign: 1 telemetry event was dropped: unsent',
      ]),
    );
    expect(lines.join('\n')).not.toMatch(/secretsecret|private-|in a body/);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test('logs the name of an unexpected error, and logs a call as canceled only if its signal was aborted', async () => {
    lines.length = 0;
    const body = '{"ok":true,"id":"00000000-0000-7000-8000-000000000000"}';
    const withoutForEach = { get: (name: string) => (name === 'content-type' ? 'application/json' : null) };
    const incomplete = { status: 200, headers: withoutForEach as never, text: async () => body };
    const client = clientOf({ logger, fetch: async () => incomplete });
    const entry = { actor: 'private-actor', action: 'b.c' };
    await expect(client.audit.append(entry)).rejects.toThrow(TypeError);
    await expect(client.audit.append(entry, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
    expect(lines).toEqual([
      'debug countersign: POST /api/public/audit: failed with TypeError',
      'debug countersign: POST /api/public/audit: canceled by its signal',
    ]);
    await client.close();
  });

  test('is not needed: without one, warnings appear on the console, and they contain no key', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const apiKeyFunction = () => Promise.reject(new Error(`the vault does not give ${apiKey}`));
    const client = clientOf({ retries: { attemptsMax: 1 }, apiKey: apiKeyFunction });
    client.telemetry.emit({ trace_id: 'a', outcome: 'success' });
    void client.traces.start().end();
    await client.close({ deadlineMs: 2000 });
    const lines = warn.mock.calls.flat().join('\n');
    warn.mockRestore();
    expect(lines).toContain('the vault does not give aa_live_');
    expect(lines).not.toContain('secretsecret');
  });

  test('can throw or reject without an error in the client', async () => {
    const failing = { debug: () => Promise.reject(new Error('disk full')), error: () => JSON.parse('{') };
    const client = clientOf({ logger: failing, fetch: rejectingFetch });
    expect(await client.traces.start().end()).toBeUndefined();
    await client.close();
  });
});

describe('browser guard', () => {
  test.each([
    ['a web page', { document: {} }, true],
    ['a web page with a bundled process object', { document: {}, process: { versions: {} } }, true],
    ['a web worker', { importScripts: () => undefined }, true],
    ['Node', { process: { versions: { node: '20.0.0' } } }, false],
    ['Node with a simulated page', { document: {}, process: { versions: { node: '20.0.0' } } }, false],
    ['Deno', { Deno: {}, document: undefined }, false],
    ['Bun', { Bun: {} }, false],
    ['an edge runtime', {}, false],
  ])('detects only web pages and web workers: %s', (_, runtime, expected) => {
    expect(isBrowser(runtime)).toBe(expected);
    if (expected) expect(() => refuseBrowser(runtime)).toThrow(ConfigurationError);
  });
});
