import { expect, test } from 'vitest';
import { stringEnd } from '../../src/domain/json-string.ts';

test.each([
  ['""', 0],
  ['["a","b"]', 5],
  ['["\\""]', 1],
  ['["\\\\","\\\\\\""]', 1],
  ['["\\\\","\\\\\\""]', 6],
])('the string in %s at %i ends after its closing quotation mark', (text, start) => {
  const end = stringEnd(text, start);
  expect(JSON.parse(text.slice(start, end))).toBeTypeOf('string');
  expect(JSON.parse(`[${text.slice(start, end)}]`)).toHaveLength(1);
});
