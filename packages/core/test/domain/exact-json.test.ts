import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findInexactParts, firstChangeByParsing, unsignedZero } from '../../src/domain/exact-json.ts';

const issuesIn = (text: string) => {
  JSON.parse(text);
  return findInexactParts(text).map(({ path, code }) => `${path} ${code}`);
};

describe('the check for exact JSON', () => {
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
  ])('accepts the number %s as exact: %s', (literal, isExact) => {
    expect(issuesIn(`{"a":[${literal}]}`)).toEqual(isExact ? [] : ['/a/0 inexact_number']);
  });

  test('accepts minus zero only in top-level members that must be numbers, and suggests a string elsewhere', () => {
    const numbers = new Set(['rate']);
    const messages = (text: string) => findInexactParts(text, numbers).map(({ message }) => message);
    for (const zero of ['-0', '-0.0', '-0e5', '-0.00E-7']) expect(messages(`{"rate":${zero}}`)).toEqual([]);
    for (const text of ['{"rat":-0}', '{"a":{"rate":-0}}', '{"rate":[-0]}', '-0', '["rate",-0]'])
      expect(messages(text)).toEqual([expect.stringMatching(/send it as a string/)]);
    expect(Object.is(unsignedZero(-0), 0)).toBe(true);
    expect([unsignedZero(-1), unsignedZero(0.5)]).toEqual([-1, 0.5]);
  });

  test.each([
    ['{"rate":79.99999999999999999999}', 'send it with fewer digits'],
    ['{"rate":1e400}', 'send a number in the range of a double'],
    ['{"rate":-1e-400}', 'send a number in the range of a double'],
    ['{"a":{"rate":12345678901234567890}}', 'send it as a string, or with fewer digits'],
    ['{"a":{"rate":-1e400}}', 'send it as a string'],
    ['{"a":{"rate":1e-400}}', 'send it as a string'],
    ['{"a":{"rate":-0.0}}', 'send 0, or send it as a string'],
  ])('reports %s with the remedy: %s', (text, remedy) => {
    const [issue] = findInexactParts(text, new Set(['rate']));
    expect(issue?.message.split('; ').at(-1)).toBe(remedy);
  });

  test('checks numbers of a million digits within the time limit of a test', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(issuesIn(`[0.1${zeros}1]`)).toEqual(['/0 inexact_number']);
    expect(issuesIn(`[0.1${zeros}, 1${zeros}, 1${zeros}e-1000000, 0.${zeros}1e1000001, ${'9'.repeat(1_000_000)}]`)).toEqual([
      '/1 inexact_number',
      '/4 inexact_number',
    ]);
  });

  test('reports repeated members at any depth, even if a name is escaped', () => {
    expect(issuesIn('{"a":1,"b":{"c":1,"\\u0063":2},"a":3}')).toEqual(['/b/c repeated_member', '/a repeated_member']);
    expect(issuesIn('[{"a":1},{"a":1}]')).toEqual([]);
    expect(issuesIn('{"__proto__":1,"__proto__":2}')).toEqual(['/__proto__ repeated_member']);
    expect(issuesIn('{"a":{"a":{"a":1}},"b":["a","a"]}')).toEqual([]);
  });

  test('reports lone surrogates in values and names, and accepts pairs', () => {
    expect(issuesIn('{"a":"\\ud83d\\ude00"}')).toEqual([]);
    expect(issuesIn('{"a":["x","\\ud83d"]}')).toEqual(['/a/1 lone_surrogate']);
    expect(findInexactParts('{"\\udc00":1}')).toMatchObject([{ code: 'lone_surrogate' }]);
    expect(issuesIn('{"a":"\\\\ud800"}')).toEqual([]);
  });

  test('finds the first value that parsing changes, even after many lone surrogates and minus zeros, which do not count as changes', () => {
    const unchanged = Array(200).fill('"\\ud83d",-0').join();
    expect(firstChangeByParsing(`[${unchanged}]`)).toBeUndefined();
    expect(firstChangeByParsing('[0.10000000000000001,33.333333333333336000,1.0000000000000000001e3]')).toBeUndefined();
    for (const changed of ['12345678901234567890', '-9007199254740993', '1e-400'])
      expect(firstChangeByParsing(`{"a":${changed}}`), changed).toMatchObject({ path: '/a', code: 'inexact_number' });
    expect(firstChangeByParsing(`[${unchanged},1e400,{"a":1,"a":1}]`)).toMatchObject({ path: '/400', code: 'inexact_number' });
    expect(firstChangeByParsing('{"a":1,"a":1}')).toMatchObject({ path: '/a', code: 'repeated_member' });
  });

  test('escapes names in pointers, and ignores quotes and brackets inside strings', () => {
    expect(issuesIn('{"a/b":{"~":[{"]":1e999}]},"\\"":"{\\"a\\":1,\\"a\\":2}"}')).toEqual(['/a~1b/~0/0/] inexact_number']);
  });

  test('reports at most 100 issues and accepts a million levels of nesting without a stack overflow', () => {
    expect(findInexactParts(`[${'1e999,'.repeat(500)}1]`)).toHaveLength(100);
    expect(findInexactParts('['.repeat(1_000_000) + ']'.repeat(1_000_000))).toEqual([]);
  });

  test('accepts everything that JSON.stringify writes', () => {
    const expectExact = (value: unknown) => expect(findInexactParts(JSON.stringify(value))).toEqual([]);
    fc.assert(fc.property(fc.jsonValue(), (value) => void expectExact(value)));
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => void expectExact([number])));
  });

  test('never accepts an integer that a double cannot represent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }), (integer) => {
        const isExact = BigInt(Number(integer)) === integer;
        // The converse does not hold: JavaScript prints at most 17 significant digits, so findInexactParts rejects some exact integers.
        if (findInexactParts(String(integer)).length === 0) expect(isExact).toBe(true);
      }),
    );
  });
});
