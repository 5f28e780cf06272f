import { shorten } from '@countersign/core/domain/shorten';
import { visibleSpaces } from '@countersign/core/domain/visible-spaces';

/**
 * Makes text safe for one line of a CI log. Replaces white space, control characters and direction marks by spaces. Shows runs of spaces,
 * which a name can contain, by `visibleSpaces`. Inserts a space into text that GitHub would read as a workflow command (`##[` anywhere in a
 * line, `::` at its start).
 */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .trim()
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, (run) =>
      /^\p{Zs}+$/u.test(run) && run.length > 1 ? visibleSpaces(run) : ' ',
    )
    .replaceAll('##[', '## [')
    .replace(/^ *::/, ': :')
    .trim();

/** The text as `oneLine` returns it, cut to a maximum number of characters. */
export const shortLine = (text: string, lengthMax = 400): string => shorten(oneLine(text), lengthMax);
