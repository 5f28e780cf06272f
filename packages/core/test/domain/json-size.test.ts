import { expect, test } from 'vitest';
import { exceededBound } from '../../src/domain/json-size.ts';

const BOUNDS = { valuesMax: 100_000, namesMax: 1_000 };

/** The limit that an object with these member names exceeds. */
const exceededBy = (names: string[]) =>
  exceededBound(Buffer.from(JSON.stringify(Object.fromEntries(names.map((name) => [name, 'a value'.repeat(30)])))), BOUNDS, 7);

test('long member names that differ only at their end are counted as different names', () => {
  const longNames = (count: number) => Array.from({ length: count }, (_, number) => `${'x'.repeat(64)}${100_000 + number}`);
  expect(exceededBy(longNames(900))).toBeUndefined();
  expect(exceededBy(longNames(1_100))).toBe('namesMax');
});

test('text with many colons after a long string is checked within the time limit of a test', () => {
  const text = `{"${'x'.repeat(600_000)}"${':'.repeat(600_000)}1}`;
  expect(exceededBound(Buffer.from(text), BOUNDS, 7)).toBeUndefined();
});
