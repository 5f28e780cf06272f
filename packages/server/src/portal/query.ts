import { parseDateTime } from '@countersign/core/domain/instant';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';

/** Returns the requested record. Throws a 404 if it is undefined, because the workspace has no such record. */
export function requireFound<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError('not_found');
  return value;
}

/** An ID of a query, in lower case as IDs are stored; null if absent. */
export const idOf = (id: string | undefined): string | null => id?.toLowerCase() ?? null;

/** The range of time of a query, in UTC; a time without an offset is in UTC. */
export const rangeOf = ({ from, to }: { from?: string | undefined; to?: string | undefined }): TimeRange => ({
  from: instantOf(from),
  to: instantOf(to),
});

/** The last millisecond of the year 9999. Rounding up does not go beyond it. */
const MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function instantOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  // Rounded up to milliseconds, because the times of records have milliseconds: no record is between the exact and the rounded time.
  const micros = parseDateTime(text)!;
  const ms = Number(micros > 0n ? (micros + 999n) / 1000n : micros / 1000n);
  return new Date(Math.min(ms, MS_MAX)).toISOString();
}

/** The value of a whole number in a query; undefined if absent. Throws a 422 for a value outside the inclusive bounds. */
export function wholeNumberOf(
  member: string,
  text: string | undefined,
  bounds: { minimum: number; maximum: number },
): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (number >= bounds.minimum && number <= bounds.maximum) return number;
  const message = `${member} must be between ${bounds.minimum} and ${bounds.maximum}, got ${text}`;
  throw validationFailed({ path: `/${member}`, code: number < bounds.minimum ? 'too_small' : 'too_large', message });
}
