/** SQL that formats a timestamptz as the service shows times: UTC with milliseconds, `2026-11-20T09:30:00.123Z`. */
export const instantText = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL that formats a timestamptz with full precision: UTC with microseconds, `2026-11-20T09:30:00.123456Z`. */
export const exactInstantText = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Formats microseconds since 1970 as `exactInstantText` does. */
export function exactText(micros: bigint): string {
  const milliseconds = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const rest = String(micros - milliseconds * 1000n).padStart(3, '0');
  return new Date(Number(milliseconds)).toISOString().replace('Z', `${rest}Z`);
}

/** SQL that is true if a time is more than 5 seconds in the future. Clocks may differ by 5 seconds; if they differ more, one was wrong. */
export const isInFuture = (column: string): string => `${column} > clock_timestamp() + interval '5 seconds'`;
