import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inexactnessOf, unsignedZero } from '../../src/domain/exact-json.ts';

const found = (text: string) => {
  JSON.parse(text);
  return inexactnessOf(text).map(({ path, code }) => `${path} ${code}`);
};

describe('what JSON.parse loses', () => {
  test.each([
    ['12345678901234567890', false],
    ['0.1234567890123456789', false],
    ['1e-400', false],
    ['1e400', false],
    ['9007199254740993', false],
    ['9007199254740992', true],
    ['9007199254740991', true],
    ['0.1', true],
    ['1.10', true],
    ['100', true],
    ['1e2', true],
    ['1E+2', true],
    ['1.5e-7', true],
    ['0.00000015', true],
    ['0', true],
    ['-0', false],
    ['-0.0e5', false],
    ['0e999999999999999999999999', true],
    ['-273.15', true],
    ['79.99999999999999999999', false],
    ['1000000000000000000000', true],
    ['5e-324', true],
    ['4e-324', false],
  ])('%s: held exactly is %s', (literal, exact) => {
    expect(found(`{"a":[${literal}]}`)).toEqual(exact ? [] : ['/a/0 inexact_number']);
  });

  test('where a number must stand minus zero is zero, and a string is no remedy; nowhere else', () => {
    const numbers = new Set(['rate']);
    const messages = (text: string) => inexactnessOf(text, numbers).map(({ message }) => message);
    for (const zero of ['-0', '-0.0', '-0e5', '-0.00E-7']) expect(messages(`{"rate":${zero}}`)).toEqual([]);
    expect(messages('{"rate":-1e-400}')).toEqual([expect.stringMatching(/; send it with fewer digits$/)]);
    for (const elsewhere of ['{"rat":-0}', '{"a":{"rate":-0}}', '{"rate":[-0]}', '-0', '["rate",-0]'])
      expect(messages(elsewhere)).toEqual([expect.stringMatching(/send it as a string/)]);
    expect(Object.is(unsignedZero(-0), 0)).toBe(true);
    expect([unsignedZero(-1), unsignedZero(0.5)]).toEqual([-1, 0.5]);
  });

  test('a number of a million digits is judged as exactly, and at once', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(found(`[0.1${zeros}1]`)).toEqual(['/0 inexact_number']);
    expect(found(`[0.1${zeros}, 1${zeros}, 1${zeros}e-1000000, 0.${zeros}1e1000001, ${'9'.repeat(1_000_000)}]`)).toEqual([
      '/1 inexact_number',
      '/4 inexact_number',
    ]);
  });

  test('a member given twice is found at any depth, also when it is written with escapes', () => {
    expect(found('{"a":1,"b":{"c":1,"\\u0063":2},"a":3}')).toEqual(['/b/c repeated_member', '/a repeated_member']);
    expect(found('[{"a":1},{"a":1}]')).toEqual([]);
    expect(found('{"__proto__":1,"__proto__":2}')).toEqual(['/__proto__ repeated_member']);
    expect(found('{"a":{"a":{"a":1}},"b":["a","a"]}')).toEqual([]);
  });

  test('a lone surrogate is found in values and in names, a pair is not', () => {
    expect(found('{"a":"\\ud83d\\ude00"}')).toEqual([]);
    expect(found('{"a":["x","\\ud83d"]}')).toEqual(['/a/1 lone_surrogate']);
    expect(inexactnessOf('{"\\udc00":1}')).toMatchObject([{ code: 'lone_surrogate' }]);
    expect(found('{"a":"\\\\ud800"}')).toEqual([]);
  });

  test('pointers are escaped, and quotes and brackets within strings mislead nobody', () => {
    expect(found('{"a/b":{"~":[{"]":1e999}]},"\\"":"{\\"a\\":1,\\"a\\":2}"}')).toEqual(['/a~1b/~0/0/] inexact_number']);
  });

  test('it stops at 100 issues, and a nesting of a million levels costs no call stack', () => {
    expect(inexactnessOf(`[${'1e999,'.repeat(500)}1]`)).toHaveLength(100);
    expect(inexactnessOf('['.repeat(1_000_000) + ']'.repeat(1_000_000))).toEqual([]);
  });

  test('what JSON.stringify writes is always exact', () => {
    const exact = (value: unknown) => expect(inexactnessOf(JSON.stringify(value))).toEqual([]);
    fc.assert(fc.property(fc.jsonValue(), (value) => void exact(value)));
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => void exact([number])));
  });

  test('a decimal with more digits than a double holds is never taken as exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }), (integer) => {
        const exact = BigInt(Number(integer)) === integer;
        // The printed form has at most 17 significant digits: an exact double may still print shorter than it was sent.
        if (inexactnessOf(String(integer)).length === 0) expect(exact).toBe(true);
      }),
    );
  });
});
