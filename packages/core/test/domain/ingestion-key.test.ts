import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { formatIngestionKey, keyInHeaders, parseIngestionKey, parseKeyPrefix } from '../../src/domain/ingestion-key.ts';

describe('ingestion keys', () => {
  test('a formatted key is parsed to the same kind, prefix and secret', () => {
    for (let round = 0; round < 200; round += 1) {
      const key = {
        kind: round % 2 === 0 ? ('live' as const) : ('read' as const),
        prefix: randomBytes(6).toString('hex'),
        secret: randomBytes(32).toString('base64url'),
      };
      expect(parseIngestionKey(formatIngestionKey(key))).toEqual(key);
    }
  });

  test.each([
    '',
    'aa_live_',
    'aa_live_5f0c2a9be671',
    `aa_live_5F0C2A9BE671.${'a'.repeat(43)}`,
    `aa_live_5f0c2a9be671.${'a'.repeat(42)}`,
    `aa_live_5f0c2a9be671.${'a'.repeat(44)}`,
    `aa_test_5f0c2a9be671.${'a'.repeat(43)}`,
    `aa_live_5f0c2a9be671.${'a'.repeat(42)}=`,
    ` aa_live_5f0c2a9be671.${'a'.repeat(43)}`,
    `aa_live_5f0c2a9be671.${'a'.repeat(43)}\n`,
  ])('rejects %j', (text) => {
    expect(parseIngestionKey(text)).toBeUndefined();
  });

  test('parses a prefix with or without aa_live_ or aa_read_, and rejects one that is too short', () => {
    expect(parseKeyPrefix('5f0c2a9be671')).toBe('5f0c2a9be671');
    expect(parseKeyPrefix('aa_live_5f0c2a9be671')).toBe('5f0c2a9be671');
    expect(parseKeyPrefix('aa_read_5f0c2a9be671')).toBe('5f0c2a9be671');
    expect(parseKeyPrefix('5f0c2a9be67')).toBeUndefined();
  });

  test('prefers a Bearer token, even a malformed one, to X-Service-Key, and ignores other schemes of Authorization', () => {
    expect(keyInHeaders('Bearer a', 'b')).toBe('a');
    expect(keyInHeaders('bearer a', undefined)).toBe('a');
    expect(keyInHeaders(undefined, 'b')).toBe('b');
    expect(keyInHeaders('Basic eDp5', 'b')).toBe('b');
    for (const other of ['Bearer-Extra foo', 'Bearer.v2 foo', 'Bearer~ foo', 'BearerToken foo', 'Bearer1 foo', '']) {
      expect([other, keyInHeaders(other, 'b')]).toEqual([other, 'b']);
    }
    for (const malformed of ['Bearer', 'Bearer ', 'bearer a b', 'Bearer=a', 'Bearer,a']) {
      expect([malformed, keyInHeaders(malformed, 'b')]).toEqual([malformed, undefined]);
    }
    expect(keyInHeaders('Basic eDp5', undefined)).toBeUndefined();
    expect(keyInHeaders(undefined, undefined)).toBeUndefined();
  });
});
