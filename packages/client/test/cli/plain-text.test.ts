import { expect, test } from 'vitest';
import { shortLine } from '../../src/cli/plain-text.ts';

test('a line of the CI log is cut between characters, also if a character has two UTF-16 code units', () => {
  expect([shortLine('a😀b', 3), shortLine('a😀bc', 3), shortLine('😀😀😀', 2)]).toEqual(['a😀b', 'a😀…', '😀…']);
});
