/** The numbers of days for which a workspace keeps the records that it receives from `since` on. null: forever. */
export interface RetentionPeriod {
  /** When these numbers of days came into force: UTC, ISO 8601. */
  since: string;
  traceDays: number | null;
  telemetryDays: number | null;
}

const DAY_MS = 86_400_000;

/** The records that were received from `from` (included) to `before` (excluded), whose retention period is over. UTC, ISO 8601. */
export interface DueRange {
  from: string;
  before: string;
  /** The retention period of these records. */
  days: number;
}

/**
 * Returns the ranges of records whose retention period is over. A record is kept for the number of days that was in force when it was
 * received. Records that were received before the first entry of `periods` are kept forever.
 * @param periods oldest first.
 * @param nowMs milliseconds since 1970.
 */
export function dueRanges(periods: readonly RetentionPeriod[], kind: 'traceDays' | 'telemetryDays', nowMs: number): DueRange[] {
  return periods.flatMap((period, index) => {
    const days = period[kind];
    if (days === null) return [];
    const fromMs = Date.parse(period.since);
    const next = periods[index + 1];
    const endMs = next === undefined ? Number.POSITIVE_INFINITY : Date.parse(next.since);
    const beforeMs = Math.min(endMs, nowMs - days * DAY_MS);
    if (beforeMs <= fromMs) return [];
    return [{ from: new Date(fromMs).toISOString(), before: new Date(beforeMs).toISOString(), days }];
  });
}
