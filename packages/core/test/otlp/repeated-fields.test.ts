import protobuf from 'protobufjs/minimal.js';
import { describe, expect, test } from 'vitest';
import { readProtobufSpans } from '../../src/otlp/read-protobuf.ts';
import { VALUES_MAX } from '../../src/otlp/records.ts';
import { decodeSpans } from './reference-decoder.ts';

// Protobuf merges a message field that occurs twice. Encoders do not write it twice, but any sender may.

const field = (tag: number, ...parts: Uint8Array[]): Uint8Array =>
  protobuf.Writer.create().uint32(tag).bytes(Buffer.concat(parts)).finish();
const repeat = (count: number, bytes: Uint8Array): Uint8Array => Buffer.alloc(count * bytes.length, bytes);

const text = (value: string) => field(0x0a, Buffer.from(value));
const list = (...elements: Uint8Array[]) => field(0x2a, ...elements.map((element) => field(0x0a, element)));
const keyValue = (key: string, ...values: Uint8Array[]) => field(0x0a, text(key), ...values.map((value) => field(0x12, value)));
const object = (...members: Uint8Array[]) => field(0x32, ...members);

/** An export of a span with this content. */
const exportOf = (...span: Uint8Array[]) => field(0x0a, field(0x12, field(0x12, ...span)));
/** An export of a span with an attribute that has these values. */
const withValues = (...values: Uint8Array[]) => exportOf(field(0x4a, text('a'), ...values.map((value) => field(0x12, value))));

const valueOfA = (body: Uint8Array) => readProtobufSpans(body)[0]!.attributes.get('a');
const faultOf = (body: Uint8Array): string => {
  try {
    readProtobufSpans(body);
    return 'none';
  } catch (error) {
    return (error as Error).message;
  }
};

const [EMPTY_LIST, EMPTY_OBJECT] = [list(), object()];
const LISTS = Buffer.concat([list(text('a')), EMPTY_LIST, list(text('b'), text('c'))]);
const OBJECTS = Buffer.concat([
  object(keyValue('x', text('1')), keyValue('y', text('2'))),
  EMPTY_OBJECT,
  object(keyValue('x', text('3')), keyValue('7', text('4')), keyValue('__proto__', text('5'))),
]);

describe('the reader of protobuf', () => {
  test.each<[string, Uint8Array, unknown]>([
    ['one value with several lists', withValues(LISTS), ['a', 'b', 'c']],
    ['several values with a list each', withValues(list(text('a')), list(text('b'))), ['a', 'b']],
    ['one value with several objects', withValues(OBJECTS), JSON.parse('{"x":"3","y":"2","7":"4","__proto__":"5"}')],
    ['several values with an object each', withValues(object(keyValue('x')), object(keyValue('y'))), { x: null, y: null }],
    ['a value with lists after a value with objects', withValues(OBJECTS, LISTS), ['a', 'b', 'c']],
    ['a value with an object after a value with lists', withValues(LISTS, object(keyValue('x'))), { x: null }],
    ['a value with a list after a value with a text', withValues(LISTS, text('x'), list(text('d'))), ['d']],
  ])('reads %s as protobufjs does', (_, body, value) => {
    expect(valueOfA(body)).toEqual(value);
    expect(JSON.stringify(decodeSpans(body)[0]!.attributes.get('a'))).toBe(JSON.stringify(valueOfA(body)));
  });

  test('merges repeated empty lists into a long list in linear time', { timeout: 20_000 }, () => {
    const [elements, repetitions] = [repeat(64_000, field(0x0a)), repeat(64_000, EMPTY_LIST)];
    expect(valueOfA(withValues(Buffer.concat([field(0x2a, elements), repetitions])))).toHaveLength(64_000);
  });

  test('merges repeated empty objects into a large object in linear time', { timeout: 10_000 }, () => {
    const members = Array.from({ length: 10_000 }, (_, index) => keyValue(`${index}`));
    const value = valueOfA(withValues(Buffer.concat([object(...members), repeat(10_000, EMPTY_OBJECT)])));
    expect(Object.keys(value as object)).toHaveLength(10_000);
  });

  test.each([
    ['one value with many lists', withValues(repeat(VALUES_MAX + 1, EMPTY_LIST))],
    ['one value with many objects', withValues(repeat(VALUES_MAX + 1, EMPTY_OBJECT))],
    ['one attribute with many values', exportOf(field(0x4a, repeat(VALUES_MAX + 1, field(0x12))))],
    ['one member with many values', withValues(object(field(0x0a, repeat(VALUES_MAX, field(0x12)))))],
    ['attributes without a value', exportOf(repeat(VALUES_MAX + 1, field(0x4a, text('key'))))],
    ['empty attributes', exportOf(repeat(VALUES_MAX + 1, field(0x4a)))],
    ['empty members', withValues(object(repeat(VALUES_MAX, field(0x0a))))],
  ])('rejects more than 500,000 values: %s', (_, body) => {
    expect(faultOf(body)).toMatch(/more than 500000 attributes, list elements or bodies/);
  });
});
