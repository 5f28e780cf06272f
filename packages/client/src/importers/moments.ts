/** An RFC 3339 time with its time zone. */
const TIME_WITH_ZONE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;

/** An RFC 3339 time without its time zone. */
const TIME_WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?$/;

/**
 * The time of a timestamp, in UTC to the millisecond. Undefined if the timestamp is invalid or before 1970, or if it has no time zone and
 * its writer is not known to write UTC. Finer fractions are cut off, so the time is never later than the original.
 */
export function momentOf(timestamp: unknown, { writesUtc = false } = {}): string | undefined {
  if (typeof timestamp !== 'string') return undefined;
  const zoned = TIME_WITH_ZONE.test(timestamp)
    ? timestamp
    : writesUtc && TIME_WITHOUT_ZONE.test(timestamp)
      ? `${timestamp}Z`
      : undefined;
  if (zoned === undefined || !isDay(zoned.slice(0, 10))) return undefined;
  const ms = Date.parse(zoned.replace(' ', 'T').replace(/(\.\d{3})\d+/, '$1'));
  return ms >= 0 ? new Date(ms).toISOString() : undefined;
}

/** Whether a date exists. `Date.parse` reads 30 February as 2 March. */
const isDay = (date: string): boolean => {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
};

/** The earliest of several times in UTC; undefined if there are none. */
export const earliestOf = (moments: readonly string[]): string | undefined => [...moments].sort()[0];

/** The time of a run, from a file that has one time for the whole run. */
export interface RunMoment {
  /** In UTC, RFC 3339; absent if the file has no clear time. */
  at?: string;
  /** The sentence about the time for the notes, with a leading space; empty if the time is valid and has a time zone. */
  note: string;
}

/** The time of the first timestamp that `momentOf` can read with this choice. */
export function runMomentOf(timestamps: readonly unknown[], choice: { writesUtc?: boolean } = {}): RunMoment {
  const present = timestamps.filter((each) => each != null && each !== '');
  const clear = present.find((each) => momentOf(each, choice) !== undefined);
  const at = momentOf(clear, choice);
  if (at !== undefined)
    return { at, note: momentOf(clear) === undefined ? ' The time of the run has no time zone, and is read as UTC.' : '' };
  if (present.length === 0) return { note: ' The file contains no time of the run.' };
  return { note: ' The time of the run is invalid or has no time zone, and is ignored: give --evaluated-at.' };
}
