const NANOS_PER_SECOND = 1_000_000_000n;
const SECONDS_LENGTH = 'YYYY-MM-DDThh:mm:ss'.length;

/** The last whole second that was converted, with its text. The times of a run fall into a few seconds, so it is often reused. */
let lastSecond = { seconds: Number.NaN, text: '' };

/** Nanoseconds since 1970 as a date-time in UTC with nine fraction digits. */
export function dateTimeOf(nanoseconds: bigint): string {
  const seconds = Number(nanoseconds / NANOS_PER_SECOND);
  if (seconds !== lastSecond.seconds)
    lastSecond = { seconds, text: new Date(seconds * 1000).toISOString().slice(0, SECONDS_LENGTH) };
  const fraction = String(Number(nanoseconds % NANOS_PER_SECOND)).padStart(9, '0');
  return `${lastSecond.text}.${fraction}Z`;
}

/** Milliseconds between two times in nanoseconds, rounded; undefined if one is missing, or if `end` is before `start`. */
export function millisecondsBetween(start: bigint | undefined, end: bigint | undefined): number | undefined {
  if (start === undefined || end === undefined || end < start) return undefined;
  return Math.round(Number(end - start) / 1e6);
}
