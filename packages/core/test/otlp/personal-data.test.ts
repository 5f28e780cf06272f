import { describe, expect, test, vi } from 'vitest';
import { maskInJson, maskInProtobuf, removePersonalIds } from '../../src/otlp/personal-data.ts';
import { countProtobuf } from '../../src/otlp/protobuf-bounds.ts';
import { readJsonSpans } from '../../src/otlp/read-json.ts';
import { readProtobufSpans } from '../../src/otlp/read-protobuf.ts';

const EMAIL = 'ada@example.com';
const isPersonal = (text: string) => text.includes('@');

/** A length-delimited field. The length is written in `lengthBytes` bytes, which may be more than it needs. */
function field(tag: number, content: Buffer, lengthBytes = 1): Buffer {
  const length = Array.from({ length: lengthBytes }, (_, index) => {
    const low = (content.length >> (7 * index)) & 0x7f;
    return index === lengthBytes - 1 ? low : low | 0x80;
  });
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
const userId = (text: string, lengthBytes = 1) =>
  field(0x4a, Buffer.concat([field(0x0a, Buffer.from('user.id')), field(0x12, field(0x0a, Buffer.from(text), lengthBytes))]));
const exportOf = (...attributes: Buffer[]) => {
  const span = field(0x12, Buffer.concat(attributes));
  return field(0x0a, field(0x12, span));
};

describe('user IDs that are personal data', () => {
  test.each<[string, Buffer]>([
    ['with a byte order mark', exportOf(userId(`\uFEFF${EMAIL}`))],
    ['whose length is written in more bytes than it needs', exportOf(userId(EMAIL, 3))],
    ['that another attribute of the same name replaces', exportOf(userId(EMAIL), userId('u-7'))],
    ['that replaces another attribute of the same name', exportOf(userId('u-7'), userId(EMAIL))],
  ])('are overwritten in protobuf: an ID %s', (_what, body) => {
    countProtobuf('traces', body);
    const records = readProtobufSpans(body);
    maskInProtobuf('traces', body, removePersonalIds(records, isPersonal));
    expect(body.toString()).not.toContain(EMAIL);
    expect(JSON.stringify([...records[0]!.attributes])).not.toContain(EMAIL);
  });

  test('are looked for only in the texts of values, even if a body has the tag and the length of the ID in many other places', () => {
    const id = EMAIL.padEnd(100_000, 'x');
    const idValue = field(0x0a, Buffer.from(id), 3);
    const start = idValue.subarray(0, 4);
    const noise = field(0x3a, Buffer.concat([Buffer.alloc(start.length * 25_000, start), Buffer.alloc(id.length)]), 3);
    const attribute = (name: string, value: Buffer) =>
      field(0x4a, Buffer.concat([field(0x0a, Buffer.from(name)), field(0x12, value, 3)]), 3);
    const span = field(0x12, Buffer.concat([attribute('other', noise), attribute('user.id', idValue)]), 3);
    const body = field(0x0a, field(0x12, span, 3), 3);
    countProtobuf('traces', body);
    const decode = vi.spyOn(TextDecoder.prototype, 'decode');
    maskInProtobuf('traces', body, new Set([id]));
    expect(decode).toHaveBeenCalledTimes(1);
    decode.mockRestore();
    expect(body.includes(EMAIL)).toBe(false);
  });

  test.each([
    ['that another attribute of the same name replaces', [EMAIL, 'u-7'], 'u-7'],
    ['with half of a surrogate pair', [`${EMAIL}\ud800`], undefined],
  ])('are overwritten in JSON: an ID %s', (_what, ids, expectedId) => {
    const attributes = ids.map((stringValue) => ({ key: 'user.id', value: { stringValue } }));
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [{ attributes }] }] }] };
    const records = readJsonSpans(body);
    const masked = maskInJson(JSON.stringify(body), removePersonalIds(records, isPersonal));
    expect(masked).not.toContain(EMAIL);
    expect(records[0]!.attributes.get('user.id')).toBe(expectedId);
  });

  test('are the only part of a JSON body that is changed', () => {
    const body = (id: string, escapedId: string) =>
      `{ "n":[1e400, 9007199254740993,-0,0.10],"${EMAIL}" : "\\"${EMAIL}\\"","id":"${id}","id":["${escapedId}"]}`;
    const mask = '*'.repeat(EMAIL.length);
    expect(maskInJson(body(EMAIL, '\\u0061da@example.com'), new Set([EMAIL]))).toBe(body(mask, mask));
  });
});
