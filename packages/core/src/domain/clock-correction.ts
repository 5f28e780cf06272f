import type { TreeLog } from './checkpoint.ts';
import { isInstant } from './member-forms.ts';

/** The action of the audit entry that permits the times in logs to step back (docs/formats.md, "Corrected times"). */
export const CLOCK_CORRECTED = 'clock.corrected';

/** A permitted step back in the times of one log: row `size` has the time `before`, and the next row may have `after` or later. */
export interface StepBack {
  size: number;
  before: string;
  after: string;
}

/** The steps back that one audit entry permits, by log. */
export type ClockCorrection = Partial<Record<TreeLog, StepBack>>;

/** The members of an audit entry that are read. The input is untrusted. */
interface Entry {
  action?: unknown;
  recorded_by?: unknown;
  metadata?: unknown;
}

const LOGS: readonly TreeLog[] = ['audit', 'decisions', 'evidence', 'keys', 'traces'];

/**
 * Returns the correction in an audit entry; undefined if the entry is not a correction. Ingestion keys can write the same action, so only
 * entries with `recorded_by` `operator` count.
 */
export function correctionIn({ action, recorded_by: by, metadata }: Entry): ClockCorrection | undefined {
  if (action !== CLOCK_CORRECTED || by !== 'operator' || !isObject(metadata) || !isObject(metadata.logs)) return undefined;
  const correction: ClockCorrection = {};
  for (const log of LOGS) {
    const step = Object.hasOwn(metadata.logs, log) ? metadata.logs[log] : undefined;
    if (isStepBack(step)) correction[log] = step;
  }
  return correction;
}

/** Whether a step permits row `seq` to have the time `at`, although the previous row has the later time `before`. */
export const allowsStep = (step: StepBack | undefined, seq: number, before: string, at: string): boolean =>
  step !== undefined && step.size === seq - 1 && step.before === before && step.after <= at;

/**
 * Checks that no row of a log has an earlier time than the previous row, except by a permitted step back. The corrections are in the audit
 * ledger, so nothing is checked without it.
 */
export class RowTimes {
  #last = '';
  readonly #log: TreeLog;
  readonly #corrections: readonly ClockCorrection[] | undefined;

  /** @param corrections the corrections in the audit ledger; undefined if it was not supplied. */
  constructor(log: TreeLog, corrections: readonly ClockCorrection[] | undefined) {
    this.#log = log;
    this.#corrections = corrections;
  }

  /** Checks the time of row `seq`. Returns its fault, or undefined. @param name the member with the time, for the fault. */
  next(seq: number, at: unknown, name: string): string | undefined {
    if (this.#corrections === undefined) return undefined;
    if (!isInstant(at)) return `${name} is not UTC with milliseconds`;
    const before = this.#last;
    if (at < before && !this.#corrections.some((correction) => allowsStep(correction[this.#log], seq, before, at)))
      return (
        `${name} ${at} is earlier than ${name} of the previous row, ${before}, ` +
        `and no entry ${CLOCK_CORRECTED} of the audit ledger allows that`
      );
    this.#last = at;
    return undefined;
  }
}

const isStepBack = (value: unknown): value is StepBack =>
  isObject(value) &&
  typeof value.size === 'number' &&
  Number.isSafeInteger(value.size) &&
  value.size >= 1 &&
  isInstant(value.before) &&
  isInstant(value.after);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
