/** An RFC 3339 time with its zone. */
const WITH_ZONE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;

/** The same without a time zone. */
const WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?$/;

/**
 * The time of a timestamp, in UTC to the millisecond; undefined if it is invalid, or has no time zone and its writer is not known to
 * write UTC. Fractions are cut off, so it is never later than the original.
 */
export function momentOf(stamp: unknown, { writesUtc = false } = {}): string | undefined {
  if (typeof stamp !== 'string') return undefined;
  const zoned = WITH_ZONE.test(stamp) ? stamp : writesUtc && WITHOUT_ZONE.test(stamp) ? `${stamp}Z` : undefined;
  if (zoned === undefined) return undefined;
  const ms = Date.parse(zoned.replace(' ', 'T').replace(/(\.\d{3})\d+/, '$1'));
  return ms >= 0 ? new Date(ms).toISOString() : undefined;
}

/** The earliest of several times in UTC; undefined if there are none. */
export const earliestOf = (moments: readonly string[]): string | undefined => [...moments].sort()[0];
