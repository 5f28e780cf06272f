import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isBrowser, refuseBrowser } from '../src/browser-guard.ts';
import { type ClientOptions, ConfigurationError, Countersign, VERSION } from '../src/index.ts';
import { countingFetch } from './fixtures/counting-fetch.ts';

const apiKey = 'aa_live_5f0c2a9be671.verysecretsecret';
const clientOf = (options: Partial<ClientOptions>) =>
  new Countersign({ baseUrl: 'https://countersign.example', apiKey, ...options });

describe('options', () => {
  test.each<[string, Partial<ClientOptions>, RegExp]>([
    ['no address', { baseUrl: 'countersign.example' }, /baseUrl must be an address/],
    ['another protocol', { baseUrl: 'ftp://countersign.example' }, /baseUrl must be an address/],
    ['a key in the address', { baseUrl: 'https://user:secret@countersign.example' }, /no user, password/],
    ['plain http beyond this machine', { baseUrl: 'http://countersign.example' }, /unencrypted/],
    ['no key', { apiKey: undefined as never }, /apiKey must be/],
    ['an empty key', { apiKey: '' }, /apiKey must be/],
    ['a key with a line end', { apiKey: `${apiKey}\n` }, /apiKey must be/],
    ['a timeout of nothing', { timeoutMs: 0 }, /timeoutMs must be a number above 0, got 0/],
    ['a batch that the service would refuse', { telemetry: { batchEventsMax: 201 } }, /from 1 to 200/],
    ['an option that is none', { timeoutMS: 3 } as never, /there is no option timeoutMS; there is .*timeoutMs/],
    ['one of telemetry', { telemetry: { batchMax: 3 } as never }, /there is no option telemetry\.batchMax/],
    [
      'one of retries',
      { retries: { attempts: 3 } as never },
      /there is no option retries\.attempts; there is retries\.attemptsMax/,
    ],
    ['one of traces', { traces: { onunsent: () => undefined } as never }, /there is no option traces\.onunsent/],
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
