import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, NotCanonicalError } from '../../src/domain/canonical-json.ts';
import { vectors } from '../vectors.ts';

const rfc = vectors('jcs-rfc8785');

describe('canonical JSON (RFC 8785)', () => {
  test.each(['section_3_2_2_sample', 'section_3_2_3_sorting'])(
    'reproduces the sample of the RFC byte for byte: %s',
    (section) => {
      expect(canonicalJson(JSON.parse(rfc[section].input))).toBe(rfc[section].canonical);
    },
  );

  test('formats every number of Appendix B as the RFC does and throws for NaN and Infinity', () => {
    for (const { ieee754_hex: hex, json } of rfc.appendix_b_numbers) {
      const number = Buffer.from(hex, 'hex').readDoubleBE();
      if (json === null || json === '' || !Number.isFinite(number))
        expect(() => canonicalJson(number)).toThrow(NotCanonicalError);
      else expect(canonicalJson(number)).toBe(json);
    }
  });

  test('throws for values that JSON cannot represent', () => {
    const holes: unknown[] = [];
    holes.length = 2;
    for (const value of [
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1n,
      () => 1,
      Symbol('s'),
      '\ud800',
      { '\udc00': 1 },
      { a: undefined },
      [undefined],
      holes,
      new Date(0),
      new Map(),
    ]) {
      expect(() => canonicalJson(value), String(typeof value)).toThrow(NotCanonicalError);
    }
  });

  // One call of JSON.stringify writes a value whose members are already in canonical order.
  test('throws for values without a JSON form, and escapes strings, even if the members are already in canonical order', () => {
    expect(() => canonicalJson({ a: 1, b: ['\ud800'] })).toThrow(NotCanonicalError);
    expect(() => canonicalJson({ a: { b: [1, { c: undefined }] } })).toThrow(NotCanonicalError);
    expect(() => canonicalJson({ a: { toJSON: () => 'another' } })).toThrow(NotCanonicalError);
    expect(() => canonicalJson({ a: [new Date(0)] })).toThrow(NotCanonicalError);
    expect(canonicalJson({ a: '\\ud800 is text here', b: '\u0000\u001f' })).toBe(
      '{"a":"\\\\ud800 is text here","b":"\\u0000\\u001f"}',
    );
    expect(canonicalJson({ 9: 'nine', 10: 'ten', a: -0 })).toBe('{"10":"ten","9":"nine","a":0}');
  });

  test('treats a member named __proto__ like any other', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":2}}'))).toBe('{"__proto__":{"x":2},"b":1}');
  });

  test('writes the same text if all members are in reverse order, and the text parses to the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false } as object), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });
});

/** The same value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.create(null);
  for (const [name, member] of Object.entries(value).reverse()) copy[name] = reversed(member);
  return copy;
}
