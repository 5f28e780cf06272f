import { HIGHEST_ID, LOWEST_ID } from '../id-range.ts';

/**
 * IDs are UUIDs of version 7 (storage/new-id.ts): their first 48 bits are milliseconds, so a range of time is a range of the primary key.
 * The clock of the server, which made the ID, can differ from the clock of the database, which made `received_at`. So the range of IDs is
 * wider by a minute on each side. A condition on `received_at` excludes the rows outside the range of time.
 */
const SKEW_MS = 60_000;

/** A range of time from `from` (included) to `to` (excluded), RFC 3339. Null means that there is no limit. */
export interface TimeRange {
  from: string | null;
  to: string | null;
}

/** The lowest and the highest ID that a record received in the range can have. */
export const idRange = ({ from, to }: TimeRange): [string, string] => [
  from === null ? LOWEST_ID : idAt(Date.parse(from) - SKEW_MS, '0'),
  to === null ? HIGHEST_ID : idAt(Date.parse(to) + SKEW_MS, 'f'),
];

function idAt(ms: number, fill: string): string {
  const bounded = Math.min(Math.max(Math.floor(ms), 0), 0xffff_ffff_ffff);
  const hex = bounded.toString(16).padStart(12, '0') + fill.repeat(20);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
