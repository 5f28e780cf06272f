import { describe, expect, test } from 'vitest';
import { countJsonPoints, readJsonLogs, readJsonSpans } from '../../src/otlp/read-json.ts';
import { RECORDS_MAX, VALUES_MAX, valuesOf } from '../../src/otlp/records.ts';

const bodyOf = (span: object) => ({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
const read = (span: object) => readJsonSpans(bodyOf(span))[0]!;
const attributeValue = (value: object | null) => read({ attributes: [{ key: 'a', value }] }).attributes.get('a');

describe('the reader of OTLP/JSON', () => {
  test('reads IDs as hex in upper or lower case', () => {
    const span = read({ traceId: 'AB'.repeat(16), spanId: 'cd'.repeat(8), parentSpanId: '' });
    expect(span).toMatchObject({ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), parentSpanId: undefined });
  });

  test.each(['ab', 'zz'.repeat(16), '0'.repeat(32), 7, null, 'q83v'.repeat(8)])('reads the trace ID %j as absent', (traceId) => {
    expect(read({ traceId }).traceId).toBe('');
  });

  test('reads integers of 64 bits from text or numbers', () => {
    expect(read({ startTimeUnixNano: '1700000000000000001', endTimeUnixNano: 5 })).toMatchObject({
      start: 1_700_000_000_000_000_001n,
      end: 5n,
    });
    expect([
      attributeValue({ intValue: '12' }),
      attributeValue({ intValue: 12 }),
      attributeValue({ intValue: '9007199254740993' }),
    ]).toEqual([12, 12, '9007199254740993']);
    for (const limit of ['9223372036854775807', '-9223372036854775808']) expect(attributeValue({ intValue: limit })).toBe(limit);
    // The JSON form of protobuf allows exponents, also in text.
    expect([attributeValue({ intValue: '1e3' }), attributeValue({ intValue: '-7' })]).toEqual([1000, -7]);
  });

  test.each([
    ...[true, [], {}, ' ', '0x', '0x10', '0b1', '1.5', 'e', 9.3e18],
    ...['12345678901234567890', '9999999999999999999', '9223372036854775808', '-9223372036854775809'],
  ])('rejects %j as an integer', (intValue) => {
    expect(() => attributeValue({ intValue })).toThrow(/must be a whole number of 64 bits/);
  });

  test.each([{ toString: 1 }, ['17'], true, -1, 1.5, 'x'])('rejects %j as a time', (startTimeUnixNano) => {
    expect(() => read({ startTimeUnixNano })).toThrow(/startTimeUnixNano must be nanoseconds/);
  });

  test.each([{ toString: 1 }, [256], true, 'x'])('reads no flags from %j', (flags) => {
    expect(read({ flags }).hasRemoteParent).toBe(false);
  });

  test.each([768, '768'])('reads a remote parent from the flags %j', (flags) => {
    expect(read({ flags }).hasRemoteParent).toBe(true);
  });

  test('reads doubles from numbers, decimal text and the strings NaN, Infinity and -Infinity', () => {
    const sent = [0.5, -1, '1e3', '-0.25', 'NaN', 'Infinity', '-Infinity', JSON.parse('1e999')];
    const expected = [0.5, -1, 1000, -0.25, 'NaN', 'Infinity', '-Infinity', 'Infinity'];
    expect(sent.map((doubleValue) => attributeValue({ doubleValue }))).toEqual(expected);
  });

  test.each([true, [], {}, '', ' ', 'nan', '0x10', 'much', '1e999'])('rejects %j as a double', (doubleValue) => {
    expect(() => attributeValue({ doubleValue })).toThrow(/doubleValue must be a number or one of the strings NaN/);
  });

  test('reads the numbers and the names of enumerations', () => {
    expect(read({ kind: 3, status: { code: 2 } })).toMatchObject({ kind: 3, statusCode: 2 });
    expect(read({ kind: 'SPAN_KIND_CLIENT', status: { code: 'STATUS_CODE_ERROR' } })).toMatchObject({ kind: 3, statusCode: 2 });
    expect(read({ kind: 77, status: { code: null } })).toMatchObject({ kind: 77, statusCode: 0 });
  });

  test.each(['SPAN_KIND_OTHER', 'toString', '3', '', 1.5, true, [[]], {}])('rejects %j as a value of an enumeration', (value) => {
    expect(() => read({ kind: value })).toThrow(/spans\/0\/kind must be a number or a name of the enumeration/);
    expect(() => read({ status: { code: value } })).toThrow(/spans\/0\/status\/code must be a number or a name/);
  });

  test('reads true and false, and rejects other values of a boolean', () => {
    expect([attributeValue({ boolValue: true }), attributeValue({ boolValue: false })]).toEqual([true, false]);
    for (const boolValue of ['true', 1, [], {}])
      expect(() => attributeValue({ boolValue })).toThrow(/boolValue must be a boolean/);
  });

  test('ignores unknown members', () => {
    const known = { name: 'step', attributes: [{ key: 'a', value: { stringValue: 'x' } }] };
    const withUnknown = { name: 'step', future: { of: ['any', 1] }, attributes: [{ ...known.attributes[0], future: 1 }] };
    expect(read(withUnknown)).toEqual(read(known));
    expect(readJsonSpans({ ...bodyOf(known), future: [] })).toHaveLength(1);
  });

  test('reads null and absent members as empty', () => {
    expect(read({ name: null, attributes: null, events: null, status: null })).toEqual(read({}));
    expect(attributeValue(null)).toBe(null);
    expect(attributeValue({})).toBe(null);
    expect(attributeValue({ intValue: null })).toBe(null);
    expect(attributeValue({ stringValue: null, intValue: '7' })).toBe(7);
  });

  test('reads 400,000 attributes with the same name, and keeps the replaced values', () => {
    const pairs = Array.from({ length: 400_000 }, (_, index) => ({ key: 'a', value: { intValue: index } }));
    const { attributes } = read({ attributes: pairs });
    expect(attributes).toEqual(new Map([['a', 399_999]]));
    expect(valuesOf(attributes, 'a').slice(0, 3)).toEqual([399_999, 0, 1]);
  });

  test('uses the observed time of a log record that has no other time, and names the place of an invalid observed time', () => {
    const [record] = readJsonLogs({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ observedTimeUnixNano: '7' }] }] }] });
    expect(record!.time).toBe(7n);
    const invalid = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ observedTimeUnixNano: 'noon' }] }] }] };
    expect(() => readJsonLogs(invalid)).toThrow(
      expect.objectContaining({ place: '/resourceLogs/0/scopeLogs/0/logRecords/0/observedTimeUnixNano' }),
    );
  });
});

describe('the limits of OTLP/JSON', () => {
  const copiesOf = (count: number, each: object) => Array<object>(count).fill(each);
  const log = (record: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
  const metric = (gauge: object) => ({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ gauge }] }] }] });
  /** The message of the error, or `none`. `toThrow` is not used, because it would print the large result if nothing is thrown. */
  const faultOf = (readBody: () => unknown): string => {
    try {
      readBody();
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const list = (count: number) => ({ arrayValue: { values: copiesOf(count, {}) } });

  test.each([
    ['spans', () => readJsonSpans({ resourceSpans: [{ scopeSpans: [{ spans: copiesOf(RECORDS_MAX + 1, {}) }] }] })],
    ['events', () => read({ events: copiesOf(RECORDS_MAX, {}) })],
    ['links', () => read({ links: copiesOf(RECORDS_MAX, {}) })],
    ['spans, events and links', () => read({ events: copiesOf(RECORDS_MAX / 2, {}), links: copiesOf(RECORDS_MAX / 2, {}) })],
    ['data points', () => countJsonPoints(metric({ dataPoints: copiesOf(RECORDS_MAX + 1, {}) }))],
  ])('reject more than 100,000 records: %s', (_, readBody) => {
    expect(faultOf(readBody)).toMatch(/more than 100000 spans, events, links, log records or data points/);
  });

  test.each([
    ['a list', () => attributeValue(list(VALUES_MAX))],
    ['attributes of a span', () => read({ attributes: copiesOf(VALUES_MAX + 1, { key: 'a', value: {} }) })],
    ['attributes of events', () => read({ events: [{ attributes: [{ key: 'a', value: list(VALUES_MAX) }] }] })],
    ['the body of a log record', () => readJsonLogs(log({ body: list(VALUES_MAX) }))],
    [
      'several places',
      () => readJsonLogs(log({ body: list(VALUES_MAX / 2), attributes: [{ key: 'a', value: list(VALUES_MAX / 2) }] })),
    ],
  ])('reject more than 500,000 values: %s', (_, readBody) => {
    expect(faultOf(readBody)).toMatch(/more than 500000 attributes, list elements or bodies/);
  });

  test('accept exactly 100,000 records and 500,000 values', () => {
    expect(read({ events: copiesOf(RECORDS_MAX - 1, {}) }).events).toHaveLength(RECORDS_MAX - 1);
    expect(attributeValue(list(VALUES_MAX - 1))).toHaveLength(VALUES_MAX - 1);
    expect(countJsonPoints(metric({ dataPoints: copiesOf(RECORDS_MAX, {}) }))).toBe(RECORDS_MAX);
  });
});
