import type { AcceptedRestore } from './accepted-restore.ts';
import type { ClockCorrection } from './clock-correction.ts';

/** Deepest nesting of a row that is looked at. What the service accepts is nested at most half as deep. */
export const NESTING_MAX = 200;

/** The first thing that is wrong with a log's rows. */
export interface FirstBad {
  /** Number of the row: the one that should stand there. */
  seq: number;
  reason: string;
  /** What was given is an export of another log than it is to be: nothing is said of either. */
  misfit?: true;
}

/** Rows that are whole in themselves are not those that somebody kept a checkpoint of, or a stored one covers. */
export interface Contradiction {
  /** What says otherwise: the file of a checkpoint, a kept head, what the database stores. */
  source: string;
  /** Rows that it covers. */
  size: number;
  /** What it is that does not fit, and what that means. */
  reason: string;
}

/** What a walk along a log found. */
export interface ChainReport {
  /** Undefined for an export that does not say whose it is: an empty one, and one of decisions. */
  tenantId: string | undefined;
  /** Rows that are whole, from the first on. */
  entries: number;
  /** row_hash (of decisions response_sha256, of key events the event's hash) of the last of them; null without rows. */
  head: string | null;
  /** Undefined when every row is whole. */
  firstBad: FirstBad | undefined;
  /** Looked for when every row is whole; undefined when whatever was kept is met. */
  contradiction?: Contradiction | undefined;
  /** What an audit ledger allows of the times of all logs; absent where it allows nothing. */
  corrections?: readonly ClockCorrection[];
  /** What an audit ledger says of accepted restores; absent where it says nothing. */
  restores?: readonly AcceptedRestore[];
}
