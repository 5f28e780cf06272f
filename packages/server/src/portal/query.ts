import { parseDateTime } from '@countersign/core/domain/instant';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import type { TimeRange } from '../storage/portal/id-time.ts';

/** What was asked for by its id; 404 when there is none, or it is another workspace's. */
export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError('not_found');
  return value;
}

/** An id of a query, in lower case as ids are stored; null when it is left out. */
export const idOf = (id: string | undefined): string | null => id?.toLowerCase() ?? null;

/** Instants that PostgreSQL takes: beyond the year 9999 nothing was recorded. */
const MS_MAX = Date.UTC(9999, 11, 31);
const MS_MIN = Date.UTC(1, 0, 1);

/** The range of time of a query, in UTC; without an offset an instant is read as UTC. */
export const rangeOf = ({ from, to }: { from?: string | undefined; to?: string | undefined }): TimeRange => ({
  from: instantOf(from),
  to: instantOf(to),
});

function instantOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const microseconds = parseDateTime(text)!;
  const ms = Number(microseconds / 1000n);
  return new Date(Math.min(Math.max(ms, MS_MIN), MS_MAX)).toISOString();
}

/** A whole number of a query within bounds; a 422 at its member when it is outside of them. */
export function wholeOf(
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
