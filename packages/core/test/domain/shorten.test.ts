import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shorten } from '../../src/domain/shorten.ts';

test('a text of at most the given number of characters stays unchanged, also if each has two UTF-16 code units', () => {
  expect([shorten('', 3), shorten('abc', 3), shorten('😀😀😀', 3)]).toEqual(['', 'abc', '😀😀😀']);
});

test('a longer text ends with an ellipsis, and no character is cut in two', () => {
  expect([shorten('abcd', 3), shorten('😀😀😀😀', 3), shorten('a😀b😀c', 3)]).toEqual(['ab…', '😀😀…', 'a😀…']);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (text, lengthMax) => {
      const shortened = shorten(text, lengthMax);
      expect([...shortened].length).toBe(Math.min([...text].length, lengthMax));
      expect(shortened.isWellFormed()).toBe(true);
    }),
  );
});
