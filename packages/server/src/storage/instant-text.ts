/** SQL that writes a timestamptz as the service shows instants: UTC with milliseconds, `2026-11-20T09:30:00.123Z`. */
export const instantText = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
