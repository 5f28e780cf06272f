import { beforeAll, describe, expect, test } from 'vitest';
import { mintKey, revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { paths, type TestResponse } from '../harness/test-server.ts';
import { digestOf, expectRejected, GOOD, type RejectedRequest, setUpRejections, testRejections } from './rejections.ts';

const target = setUpRejections();
const KEY_START = 'aa_live_';
const SECRET = 'A'.repeat(43);
let revoked: string;
let expired: string;

beforeAll(async () => {
  const { server, tenantId } = target;
  revoked = await server.key(tenantId);
  await revokeKey(server.open.pool, tenantId, revoked.slice(8, 20), 'operator');
  expired = await mintKey(
    server.open.pool,
    tenantId,
    { name: 'expired', scopes: ['audit'], expiresAt: new Date(Date.now() - 1000).toISOString() },
    'operator',
  );
});

/** Headers that must not authenticate a request, most of them made from a valid key. */
const INVALID_CREDENTIALS: [what: string, headers: (key: string) => Record<string, string>][] = [
  ['no key', () => ({})],
  ['an empty Authorization', () => ({ authorization: '' })],
  ['Bearer alone', () => ({ authorization: 'Bearer' })],
  ['the key without Bearer', (key) => ({ authorization: key })],
  ['Basic', (key) => ({ authorization: `Basic ${Buffer.from(key).toString('base64')}` })],
  ['Token', (key) => ({ authorization: `Token ${key}` })],
  ['quotes around the key', (key) => ({ authorization: `Bearer "${key}"` })],
  ['two keys in one header', (key) => ({ authorization: `Bearer ${key}, Bearer ${key}` })],
  ['words after the key', (key) => ({ authorization: `Bearer ${key} please` })],
  ['aa_test_ instead of aa_live_', (key) => ({ authorization: `Bearer ${key.replace('live', 'test')}` })],
  ['aa_live_ in capitals', (key) => ({ authorization: `Bearer ${key.replace('aa_live_', 'AA_LIVE_')}` })],
  ['no aa_live_', (key) => ({ authorization: `Bearer ${key.slice(KEY_START.length)}` })],
  ['no dot', (key) => ({ authorization: `Bearer ${key.replace('.', '')}` })],
  ['no secret', (key) => ({ authorization: `Bearer ${key.split('.')[0]}.` })],
  ['the prefix alone', (key) => ({ authorization: `Bearer ${key.split('.')[0]}` })],
  ['a secret one character short', (key) => ({ authorization: `Bearer ${key.slice(0, -1)}` })],
  ['a secret one character longer', (key) => ({ authorization: `Bearer ${key}A` })],
  ['a padded secret', (key) => ({ authorization: `Bearer ${key}=` })],
  ['a prefix of 11 digits', (key) => ({ authorization: `Bearer ${key.replace(/^(aa_live_)./, '$1')}` })],
  ['a prefix that is not hexadecimal', () => ({ authorization: `Bearer ${KEY_START}zzzzzzzzzzzz.${SECRET}` })],
  ['an unknown prefix', () => ({ authorization: `Bearer ${KEY_START}000000000000.${SECRET}` })],
  ['a known prefix with another secret', (key) => ({ authorization: `Bearer ${key.split('.')[0]}.${SECRET}` })],
  ['a known prefix with the secret in inverted case', (key) => ({ authorization: `Bearer ${invertCase(key)}` })],
  ['SQL as the prefix', () => ({ authorization: `Bearer ${KEY_START}' OR 1=1 --.${SECRET}` })],
  ['15,000 characters', () => ({ authorization: `Bearer ${'x'.repeat(15_000)}` })],
  ['an empty X-Service-Key', () => ({ 'x-service-key': '' })],
  ['Bearer within X-Service-Key', (key) => ({ 'x-service-key': `Bearer ${key}` })],
  ['a bad Bearer beside a good X-Service-Key', (key) => ({ authorization: 'Bearer x', 'x-service-key': key })],
  ['an empty Bearer beside a good X-Service-Key', (key) => ({ authorization: 'Bearer', 'x-service-key': key })],
  ['a cookie', (key) => ({ cookie: `key=${key}` })],
  ['X-API-Key', (key) => ({ 'x-api-key': key })],
  ['Proxy-Authorization', (key) => ({ 'proxy-authorization': `Bearer ${key}` })],
  ['a revoked key', () => ({ authorization: `Bearer ${revoked}` })],
  ['an expired key', () => ({ authorization: `Bearer ${expired}` })],
];

describe('every invalid key gets the same 401', () => {
  test.each(INVALID_CREDENTIALS)('%s', async (_what, headers) => {
    const before = await digestOf(target.server.database);
    const response = await target.server.post(paths.audit, undefined, GOOD.entry, headers(target.key));
    expectRejected(response, 'unauthorized');
    expect(stableHeaders(response)).toEqual({
      'content-length': '36',
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json; charset=utf-8',
      'www-authenticate': 'Bearer',
    });
    expect(await digestOf(target.server.database)).toEqual(before);
  });

  test('a key in the query or in the body does not authenticate a request', async () => {
    const response = await target.server.post(`${paths.audit}?key=${target.key}`, undefined, { ...GOOD.entry, key: target.key });
    expectRejected(response, 'unauthorized');
  });

  test.each(Object.entries(paths))('%s requires a key', async (_name, path) => {
    expectRejected(await target.server.post(path, undefined, {}), 'unauthorized');
  });
});

const withIdempotencyKey = (what: string, key: string): RejectedRequest => ({
  what,
  path: paths.audit,
  body: GOOD.entry,
  headers: { 'idempotency-key': key },
  issues: [' bad_header'],
});

testRejections('requires 1 to 255 printable ASCII characters in an Idempotency-Key', target, [
  withIdempotencyKey('empty', ''),
  withIdempotencyKey('256 characters', 'k'.repeat(256)),
  withIdempotencyKey('4,000 characters', 'k'.repeat(4000)),
  withIdempotencyKey('a tab', 'a\tb'),
  withIdempotencyKey('Latin-1', 'clef-\u00e9'),
  withIdempotencyKey('UTF-8, sent as its bytes', Buffer.from('\u{1F600}').toString('latin1')),
  withIdempotencyKey('U+00A0', 'a\u00a0b'),
  ...[paths.traces, paths.telemetry, paths.evaluations].map((path) => ({
    ...withIdempotencyKey(`at ${path}`, ''),
    path,
    body: { [paths.traces]: GOOD.trace, [paths.telemetry]: GOOD.event, [paths.evaluations]: GOOD.evaluation }[path],
  })),
]);

describe('the server', () => {
  test('accepts an Idempotency-Key of 255 characters, and every printable ASCII character in an Idempotency-Key', async () => {
    const printable = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 0x21 + index));
    for (const key of ['k'.repeat(255), printable, 'with spaces within'])
      expect((await target.server.post(paths.audit, target.key, GOOD.entry, { 'idempotency-key': key })).status).toBe(200);
  });

  test('accepts the key in Authorization or X-Service-Key, with spaces around the key and Bearer in any letter case', async () => {
    const headers: Record<string, string>[] = [
      { authorization: `Bearer ${target.key}` },
      { authorization: `bearer  ${target.key} ` },
      { authorization: `BEARER ${target.key}` },
      { 'x-service-key': target.key },
      { authorization: 'Basic abc', 'x-service-key': target.key },
      { authorization: `Bearer ${target.key}`, 'x-service-key': 'nonsense' },
    ];
    for (const each of headers) expect((await target.server.post(paths.audit, undefined, GOOD.entry, each)).status).toBe(200);
  });
});

/** The headers of a response without those that can differ between responses to the same request. */
function stableHeaders({ headers }: TestResponse): Record<string, string> {
  const { date: _, 'x-request-id': __, connection: ___, 'keep-alive': ____, ...rest } = Object.fromEntries(headers);
  return rest;
}

function invertCase(key: string): string {
  const [prefix, secret] = key.split('.') as [string, string];
  return `${prefix}.${[...secret].map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())).join('')}`;
}
