import { expect, test } from 'vitest';
import { requireFewCopies } from '../../src/otlp/copied-parts.ts';
import { MalformedExportError } from '../../src/otlp/records.ts';
import { record } from './span-records.ts';

const LENGTH = 100_000;
const scope = 'x'.repeat(LENGTH - 2);
const resource = new Map([['long', 'x'.repeat(LENGTH - 13)]]);
const spans = (count: number, members: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => record({}, members(index)));

test.each([
  ['the name of a scope (one copy for each span)', () => ({ scope })],
  ['the attributes of a resource (one copy for each trace)', (index: number) => ({ resource, traceId: String(index) })],
])('limits the copies of %s', (_what, members) => {
  for (const [bodyBytes, charactersMax] of [
    [1000, 1024 * 1024],
    [100_000, 6_400_000],
    [20_000_000, 64 * 1024 * 1024],
  ] as const) {
    const few = spans(Math.floor(charactersMax / (LENGTH + 10)), members);
    expect(requireFewCopies(few, bodyBytes)).toBe(few);
    expect(() => requireFewCopies(spans(Math.ceil(charactersMax / LENGTH) + 1, members), bodyBytes)).toThrow(
      MalformedExportError,
    );
  }
});

test('counts one copy of the attributes of a resource for all spans of a trace', () => {
  expect(
    requireFewCopies(
      spans(1000, () => ({ resource })),
      1000,
    ),
  ).toHaveLength(1000);
});
