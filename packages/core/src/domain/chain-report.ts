import type { AcceptedRestore } from './accepted-restore.ts';
import type { ClockCorrection } from './clock-correction.ts';

/** The maximum nesting of a row that verifiers read. The service accepts audit entries with at most half of this nesting. */
export const NESTING_MAX = 200;

/** The first fault in a log's rows. */
export interface FirstBad {
  /** The expected number of the row. */
  seq: number;
  reason: string;
  /** Set if the input is an export of another log than expected. Then the result says nothing about either log. */
  misfit?: true;
}

/** A contradiction between the rows of a log and another source. */
export interface Contradiction {
  /** The source that the rows contradict, for people: a checkpoint file, a kept head, the audit ledger or the database. */
  source: string;
  /** The number of rows that the source covers; 0 if this is not known, or the source is of another log. */
  size: number;
  /** What differs, and the possible causes. */
  reason: string;
}

/** Traces that were dropped because of their age or on request, according to the trace log. */
export interface DroppedTraces {
  /** The number of these traces. */
  traces: number;
  /** When traces were last dropped: UTC with milliseconds. */
  lastAt: string;
}

/** The result of verifying a log. */
export interface ChainReport {
  /**
   * Undefined if no tenant was expected and no row names one: the export is empty, or contains only decisions of earlier versions, which
   * name no tenant.
   */
  tenantId: string | undefined;
  /** The number of rows before the first fault. */
  entries: number;
  /** The leaf data of the last valid row, in hex: the row_hash, a decision's response_sha256, or an event's hash; null without rows. */
  head: string | null;
  /** Undefined if every row is valid. */
  firstBad: FirstBad | undefined;
  /** Undefined if the rows match every other source. If a row is not valid, only a contradiction with a database table is reported. */
  contradiction?: Contradiction | undefined;
  /** The corrections of the clock in an audit ledger; absent if there are none. */
  corrections?: readonly ClockCorrection[];
  /** Only for a trace log in the database: the dropped traces. Absent if there are none. */
  dropped?: DroppedTraces;
  /** The accepted restores in an audit ledger; absent if there are none. */
  restores?: readonly AcceptedRestore[];
}
