/**
 * Reading date-times (RFC 3339's form of ISO 8601, spec/decisions.md "Fields"): date, T, hours, minutes, seconds,
 * 0 to 9 fraction digits; without an offset it is UTC.
 */
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Microseconds since 1970-01-01T00:00:00Z; undefined when the text is no date-time. Digits beyond microseconds are cut. */
export function parseDateTime(text: string): bigint | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match;
  if (!dayExists(Number(year), Number(month), Number(day))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined;
  const offsetMinutes = (sign === '-' ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  const midnight = utcMidnight(Number(year), Number(month), Number(day));
  const minutes = Number(hour) * 60 + Number(minute) - offsetMinutes;
  if (!secondExists(Number(second), minutes)) return undefined;
  const milliseconds = midnight + minutes * 60_000 + Number(second) * 1000;
  return BigInt(milliseconds) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

/** Whether a text is a date that exists, YYYY-MM-DD. */
export function isCalendarDate(text: string): boolean {
  const match = DATE.exec(text);
  return match !== null && dayExists(Number(match[1]), Number(match[2]), Number(match[3]));
}

function dayExists(year: number, month: number, day: number): boolean {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days;
}

/** Second 60 exists at the end of a UTC day alone, as a leap second (RFC 3339, section 5.7). */
function secondExists(second: number, utcMinutes: number): boolean {
  return second <= 59 || (second === 60 && ((utcMinutes % 1440) + 1440) % 1440 === 1439);
}

/** Date.UTC reads the years 0 to 99 as 1900 to 1999; setUTCFullYear does not. */
function utcMidnight(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}
