const UNITS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

// `numeric: 'auto'` would show times from 24 to 48 hours ago as "yesterday", but they can be on the day before yesterday.
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

/** A time relative to `now` (milliseconds since 1970) in whole units: `3 min. ago`, `in 2 days`. Less than a minute is `just now`. */
export function formatRelativeTime(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  for (const [unit, unitSeconds] of UNITS) {
    if (Math.abs(seconds) >= unitSeconds) return relative.format(Math.trunc(seconds / unitSeconds), unit);
  }
  return 'just now';
}

const exact = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

/** A date and time in the reader's time zone, to the second. */
export const formatExactTime = (at: string): string => exact.format(new Date(at));

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A calendar day in UTC, short: `20 Nov`. */
export const formatDay = (date: string | number): string => day.format(new Date(date));

const localDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** A day in the reader's time zone, short: `20 Nov`. */
export const formatLocalDay = (at: number): string => localDay.format(at);

const localTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** A time of day in the reader's time zone: `09:30`. */
export const formatTimeOfDay = (at: number): string => localTime.format(at);
