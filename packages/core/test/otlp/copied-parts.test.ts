import { expect, test } from 'vitest';
import { COPIED_CHARACTERS_MAX, requireFewCopies } from '../../src/otlp/copied-parts.ts';
import { MalformedExportError } from '../../src/otlp/records.ts';
import { record } from './span-records.ts';

const resource = new Map([['long', 'x'.repeat(1_000_000)]]);
const scope = 'x'.repeat(1_000_000);
const most = Math.floor(COPIED_CHARACTERS_MAX / 1_000_100);
const spans = (count: number, members: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => record({}, members(index)));

test.each([
  ['the name of a scope, once for each span', () => ({ scope })],
  ['the attributes of a resource, once for each trace', (index: number) => ({ resource, traceId: String(index) })],
])('counts %s', (_what, members) => {
  expect(requireFewCopies(spans(most, members))).toHaveLength(most);
  expect(() => requireFewCopies(spans(most + 2, members))).toThrow(MalformedExportError);
});

test('counts the attributes of a resource once for all spans of a trace', () => {
  expect(requireFewCopies(spans(1000, () => ({ resource })))).toHaveLength(1000);
});
