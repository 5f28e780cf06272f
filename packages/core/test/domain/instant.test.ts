import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCalendarDate, parseDateTime } from '../../src/domain/instant.ts';

describe('date-times', () => {
  test.each([
    ['2026-11-20T09:30:00Z', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20T09:30:00', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20t09:30:00z', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20T09:30:00.5+02:00', '2026-11-20T07:30:00.500Z'],
    ['2026-11-20T00:30:00-23:59', '2026-11-21T00:29:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2017-01-01T01:59:60+02:00', '2017-01-01T00:00:00.000Z'],
    ['0000-12-31T23:59:00-00:01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('parses %s', (text, iso) => {
    expect(parseDateTime(text)).toBe(BigInt(Date.parse(iso)) * 1000n);
  });

  test('parses fractions of up to nine digits and keeps microseconds', () => {
    expect(parseDateTime('1970-01-01T00:00:00.123456789Z')).toBe(123456n);
    expect(parseDateTime('1970-01-01T00:00:00.1234567890Z')).toBeUndefined();
  });

  test.each([
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:61Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T23:59:60+01:00',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '9999-12-31T23:59:60Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+0100',
    '26-01-01T00:00:00Z',
    '',
    'now',
    '2026-01-01T00:00:00Z ',
    '\u0662026-01-01T00:00:00Z',
  ])('rejects %j', (text) => {
    expect(parseDateTime(text)).toBeUndefined();
  });

  test('parses the ISO string of any Date from the year 1 to the year 9999 as the instant of the Date', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
        (date) => {
          expect(parseDateTime(date.toISOString())).toBe(BigInt(date.getTime()) * 1000n);
        },
      ),
    );
  });

  test('accepts only calendar dates that exist', () => {
    for (const date of ['2024-02-29', '2026-12-31', '2000-02-29']) expect(isCalendarDate(date)).toBe(true);
    for (const date of ['2026-02-29', '1900-02-29', '2026-1-1', '2026-13-01', '20261101', '2026-11-31'])
      expect(isCalendarDate(date)).toBe(false);
  });
});
