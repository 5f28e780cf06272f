import type { CountersignError } from '../http/errors.ts';
import { type OptionNames, refuseUnknown } from '../known-options.ts';
import { positive } from '../positive-option.ts';
import type { Trace } from '../wire/contract.ts';

/** A run that could not be sent. */
export interface UnsentRun {
  error: CountersignError;
  /** The run, to be kept elsewhere, or sent later with `traces.send`. */
  trace: Trace;
}

/** How runs are built and sent. */
export interface TracingOptions {
  /** Hears of a run that could not be sent. What it throws is ignored. Without it the first is a `console.warn`. */
  onUnsent?: ((unsent: UnsentRun) => void) | undefined;
  /** Most steps of a run that are kept; how many more there were stands in its metadata. Default 5000. */
  spansMax?: number | undefined;
  /** Most characters of JSON of one step; what makes it longer is left out, and its metadata says so. Default 1,000,000. */
  spanCharactersMax?: number | undefined;
  /** The same for all steps of a run together. Default 32,000,000. */
  runCharactersMax?: number | undefined;
}

/** What bounds a run in memory. */
export interface TracingLimits {
  spansMax: number;
  spanCharactersMax: number;
  runCharactersMax: number;
}

/** Reads the limits. Throws a ConfigurationError that names what is wrong. */
export function readTracingLimits(options: TracingOptions = {}): TracingLimits {
  refuseUnknown('traces.', options, NAMES);
  return {
    spansMax: positive('traces.spansMax', options.spansMax, 5000),
    spanCharactersMax: positive('traces.spanCharactersMax', options.spanCharactersMax, 1_000_000),
    runCharactersMax: positive('traces.runCharactersMax', options.runCharactersMax, 32_000_000),
  };
}

const NAMES: OptionNames<TracingOptions> = { onUnsent: true, spansMax: true, spanCharactersMax: true, runCharactersMax: true };
