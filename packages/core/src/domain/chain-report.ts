import type { AcceptedRestore } from './accepted-restore.ts';
import type { ClockCorrection } from './clock-correction.ts';

/** The deepest nesting of a row that is read. The service accepts at most half of it. */
export const NESTING_MAX = 200;

/** The first fault in a log's rows. */
export interface FirstBad {
  /** The expected number of the row. */
  seq: number;
  reason: string;
  /** The input is an export of another log than expected; neither log is judged. */
  misfit?: true;
}

/** The rows are consistent with each other, but not with another source. */
export interface Contradiction {
  /** What the rows contradict: a checkpoint file, a kept head, or the database. */
  source: string;
  /** The number of rows that the source covers; 0 if it is unknown or of another log. */
  size: number;
  /** What differs, and what that means. */
  reason: string;
}

/** Traces that a log of traces records as dropped, by retention or on request. */
export interface DroppedTraces {
  traces: number;
  /** When the last ones were dropped: UTC with milliseconds. */
  lastAt: string;
}

/** The result of verifying a log. */
export interface ChainReport {
  /** Undefined for an export that does not name its workspace: an empty one, or one of decisions of earlier versions. */
  tenantId: string | undefined;
  /** The number of rows before the first fault. */
  entries: number;
  /** row_hash of the last intact row (for decisions response_sha256, for events the event's hash); null without rows. */
  head: string | null;
  /** Undefined if every row is intact. */
  firstBad: FirstBad | undefined;
  /** Undefined if the rows match every other source, or if a row is not intact. */
  contradiction?: Contradiction | undefined;
  /** The corrections of the clock in an audit ledger; absent if there are none. */
  corrections?: readonly ClockCorrection[];
  /** The dropped traces in a log of traces in the database; absent if there are none. */
  dropped?: DroppedTraces;
  /** The accepted restores in an audit ledger; absent if there are none. */
  restores?: readonly AcceptedRestore[];
}
