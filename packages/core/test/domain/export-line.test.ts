import { expect, test } from 'vitest';
import { parseLine } from '../../src/domain/export-line.ts';

test.each([
  ['{"a":1,"b":[{"a":1.5}]}', { value: { a: 1, b: [{ a: 1.5 }] } }],
  ['{"a":1,"a":2}', { fault: '"a" is given twice (at /a)' }],
  ['{"a; b":1,"a; b":2}', { fault: '"a; b" is given twice (at /a; b)' }],
  ['{"a":[0,-0]}', { fault: 'the number -0 is not exact: programs can read it differently (at /a/1)' }],
  [
    '{"a":12345678901234567890}',
    { fault: 'the number 12345678901234567890 is not exact: programs can read it differently (at /a)' },
  ],
  ['"\\ud800"', { fault: 'the string contains half of a surrogate pair' }],
  ['{"a":', { fault: 'the line is not JSON: Unexpected end of JSON input' }],
])('parseLine(%s) returns %j', (text, expected) => {
  expect(parseLine(text)).toEqual(expected);
});
