import { expect, test } from 'vitest';
import { formatAge, formatCountOf, formatDuration, formatPercent, formatShortDollars } from '../src/components/number-format.ts';
import { formatRelativeTime } from '../src/components/time-format.ts';

test.each([
  [-59, 'just now'],
  [-(59 * 60 + 40), '59 min. ago'],
  [-(23 * 3600 + 40 * 60), '23 hr. ago'],
  [2 * 86_400, 'in 2 days'],
  // The day 47 hours ago can be the day before yesterday, so the text is not "yesterday".
  [-47 * 3600, '1 day ago'],
  [54 * 86_400, 'in 1 mo.'],
])('shows the offset of %i seconds from now as %j, without rounding up to the next unit', (seconds, text) => {
  expect(formatRelativeTime(new Date(seconds * 1000).toISOString(), 0)).toBe(text);
});

test.each([
  [92.5, '92.5 %'],
  [100, '100 %'],
  [79.1, '79.1 %'],
  [66.66666666666667, '66.6666 %'],
  [33.3333, '33.3333 %'],
  [79.999, '79.999 %'],
  [79.99999, '79.9999 %'],
  [null, '–'],
])('shows a pass rate of %j as %j, rounded down', (rate, text) => expect(formatPercent(rate)).toBe(text));

test.each([
  [999.4, '999 ms'],
  [999.7, '1 s'],
  [3_210, '3.21 s'],
  [59_940, '59.9 s'],
  [59_999, '1 min 0 s'],
  [119_600, '2 min 0 s'],
  [245_000, '4 min 5 s'],
  [3_599_600, '1 h 0 min'],
  [7_199_999, '2 h 0 min'],
  [7_850_000, '2 h 11 min'],
])('shows %j milliseconds as %j, never with 60 seconds or 60 minutes', (ms, text) => expect(formatDuration(ms)).toBe(text));

test.each([
  [0, '$0'],
  [0.0004, '$0.0004'],
  [250, '$250.00'],
  [1_000, '$1K'],
  [1_500, '$1.5K'],
  [20_000_000, '$20M'],
])('shows %j dollars as %j on the axis of a chart', (value, text) => expect(formatShortDollars(value)).toBe(text));

test.each([
  [-0.001, 'in the future'],
  [0, 'less than a minute'],
  [0.5, '30 min'],
  [1.25, '1.3 hours'],
  [60, '2.5 days'],
])('shows an age of %j hours as %j', (hours, text) => expect(formatAge(hours)).toBe(text));

test.each([
  [0, '0 entries'],
  [1, '1 entry'],
  [12_480, '12,480 entries'],
])('shows a count of %j with its noun as %j', (count, text) => expect(formatCountOf(count, 'entry', 'entries')).toBe(text));
