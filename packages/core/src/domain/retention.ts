/** For how many days a workspace keeps the traces and telemetry that it receives from a time on. Null: forever. */
export interface RetentionPeriod {
  /** Start of the period: UTC, ISO 8601. */
  since: string;
  traceDays: number | null;
  telemetryDays: number | null;
}

const DAY_MS = 86_400_000;

/** Records whose period is over: received from `from` (included) to `before` (excluded). ISO 8601. */
export interface DueRange {
  from: string;
  before: string;
  days: number;
}

/**
 * The ranges of records that are due. A record is kept for the days that were in force when it was received; records from before the first
 * period are kept forever.
 * @param periods oldest first.
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
