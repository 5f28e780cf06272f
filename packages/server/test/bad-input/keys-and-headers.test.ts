import { beforeAll, describe, expect, test } from 'vitest';
import { mintKey, revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { type Answer, paths } from '../harness/test-server.ts';
import { digestOf, expectRefused, GOOD, type RuleViolationError, refuses, worldOfRefusals } from './refusals.ts';

const world = worldOfRefusals();
const PREFIX = 'aa_live_';
const SECRET = 'A'.repeat(43);
let revoked: string;
let expired: string;

beforeAll(async () => {
  const { server, tenantId } = world;
  revoked = await server.key(tenantId);
  await revokeKey(server.open.pool, tenantId, revoked.slice(8, 20), 'operator');
  expired = await mintKey(
    server.open.pool,
    tenantId,
    { name: 'expired', scopes: ['audit'], expiresAt: new Date(Date.now() - 1000).toISOString() },
    'operator',
  );
});

/** Headers that carry no good key, made of a good one. */
const NO_KEYS: [what: string, headers: (key: string) => Record<string, string>][] = [
  ['no key', () => ({})],
  ['an empty Authorization', () => ({ authorization: '' })],
  ['Bearer alone', () => ({ authorization: 'Bearer' })],
  ['the key without Bearer', (key) => ({ authorization: key })],
  ['Basic', (key) => ({ authorization: `Basic ${Buffer.from(key).toString('base64')}` })],
  ['Token', (key) => ({ authorization: `Token ${key}` })],
  ['quotes around the key', (key) => ({ authorization: `Bearer "${key}"` })],
  ['two keys in one header', (key) => ({ authorization: `Bearer ${key}, Bearer ${key}` })],
  ['words behind the key', (key) => ({ authorization: `Bearer ${key} please` })],
  ['another label', (key) => ({ authorization: `Bearer ${key.replace('live', 'test')}` })],
  ['the label in capitals', (key) => ({ authorization: `Bearer ${key.replace('aa_live_', 'AA_LIVE_')}` })],
  ['no label', (key) => ({ authorization: `Bearer ${key.slice(PREFIX.length)}` })],
  ['no dot', (key) => ({ authorization: `Bearer ${key.replace('.', '')}` })],
  ['no secret', (key) => ({ authorization: `Bearer ${key.split('.')[0]}.` })],
  ['the prefix alone', (key) => ({ authorization: `Bearer ${key.split('.')[0]}` })],
  ['a secret one character short', (key) => ({ authorization: `Bearer ${key.slice(0, -1)}` })],
  ['a secret one character longer', (key) => ({ authorization: `Bearer ${key}A` })],
  ['a padded secret', (key) => ({ authorization: `Bearer ${key}=` })],
  ['a prefix of 11 digits', (key) => ({ authorization: `Bearer ${key.replace(/^(aa_live_)./, '$1')}` })],
  ['a prefix that is not hexadecimal', () => ({ authorization: `Bearer ${PREFIX}zzzzzzzzzzzz.${SECRET}` })],
  ['an unknown prefix', () => ({ authorization: `Bearer ${PREFIX}000000000000.${SECRET}` })],
  ['a known prefix with another secret', (key) => ({ authorization: `Bearer ${key.split('.')[0]}.${SECRET}` })],
  ["a known prefix with the secret's case turned", (key) => ({ authorization: `Bearer ${turnedCase(key)}` })],
  ['SQL for a prefix', () => ({ authorization: `Bearer ${PREFIX}' OR 1=1 --.${SECRET}` })],
  ['16,000 characters', () => ({ authorization: `Bearer ${'x'.repeat(15_000)}` })],
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

describe('one and the same 401 for every key that is not good', () => {
  test.each(NO_KEYS)('%s', async (_what, headers) => {
    const before = await digestOf(world.server.database);
    const answer = await world.server.post(paths.audit, undefined, GOOD.entry, headers(world.key));
    expectRefused(answer, 'unauthorized');
    expect(said(answer)).toEqual({
      'content-length': '36',
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json; charset=utf-8',
      'www-authenticate': 'Bearer',
    });
    expect(await digestOf(world.server.database)).toEqual(before);
  });

  test('a key in the query or in the body is no key', async () => {
    const answer = await world.server.post(`${paths.audit}?key=${world.key}`, undefined, { ...GOOD.entry, key: world.key });
    expectRefused(answer, 'unauthorized');
  });

  test.each(Object.entries(paths))('%s asks for a key', async (_name, path) => {
    expectRefused(await world.server.post(path, undefined, {}), 'unauthorized');
  });
});

const bearing = (what: string, key: string): RuleViolationError => ({
  what,
  path: paths.audit,
  body: GOOD.entry,
  headers: { 'idempotency-key': key },
  issues: [' bad_header'],
});

refuses('an Idempotency-Key has 1 to 255 printable ASCII characters', world, [
  bearing('empty', ''),
  bearing('256 characters', 'k'.repeat(256)),
  bearing('4,000 characters', 'k'.repeat(4000)),
  bearing('a tab', 'a\tb'),
  bearing('Latin-1', 'clef-\u00e9'),
  bearing('UTF-8, as the bytes it is', Buffer.from('\u{1F600}').toString('latin1')),
  bearing('U+00A0', 'a\u00a0b'),
  ...[paths.traces, paths.telemetry, paths.evaluations].map((path) => ({
    ...bearing(`at ${path}`, ''),
    path,
    body: { [paths.traces]: GOOD.trace, [paths.telemetry]: GOOD.event, [paths.evaluations]: GOOD.evaluation }[path],
  })),
]);

describe('good keys', () => {
  test('an Idempotency-Key of 255 characters, or of every printable one, is accepted', async () => {
    const printable = String.fromCharCode(...Array.from({ length: 93 }, (_, index) => 0x21 + index));
    for (const key of ['k'.repeat(255), printable, 'with spaces within'])
      expect((await world.server.post(paths.audit, world.key, GOOD.entry, { 'idempotency-key': key })).status).toBe(200);
  });

  test('the key is taken from either header, whatever the case of Bearer and the spaces around', async () => {
    const headers: Record<string, string>[] = [
      { authorization: `Bearer ${world.key}` },
      { authorization: `bearer  ${world.key} ` },
      { authorization: `BEARER ${world.key}` },
      { 'x-service-key': world.key },
      { authorization: 'Basic abc', 'x-service-key': world.key },
      { authorization: `Bearer ${world.key}`, 'x-service-key': 'nonsense' },
    ];
    for (const each of headers) expect((await world.server.post(paths.audit, undefined, GOOD.entry, each)).status).toBe(200);
  });
});

/** What an answer says in its headers, but for what differs from one to the next by nature. */
function said({ headers }: Answer): Record<string, string> {
  const { date: _, 'x-request-id': __, connection: ___, 'keep-alive': ____, ...rest } = Object.fromEntries(headers);
  return rest;
}

function turnedCase(key: string): string {
  const [prefix, secret] = key.split('.') as [string, string];
  return `${prefix}.${[...secret].map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())).join('')}`;
}
