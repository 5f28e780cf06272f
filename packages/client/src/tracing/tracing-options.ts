import { type OptionNames, refuseUnknown } from '../known-options.ts';
import { positive } from '../positive-option.ts';
import type { TraceCallbacks } from './trace-reports.ts';

/** How runs are built and sent. */
export interface TracingOptions extends TraceCallbacks {
  /** Most steps of a run that are kept; how many more there were stands in its metadata. Default 5000. */
  spansMax?: number | undefined;
  /** Most characters of JSON of one step; what makes it longer is left out, and its metadata says so. Default 1,000,000. */
  spanCharactersMax?: number | undefined;
  /** The same for all steps of a run together. Default 32,000,000. */
  runCharactersMax?: number | undefined;
  /** Most bytes of memory that runs take which wait or are on their way; more are dropped. Default 100,000,000. */
  queueBytesMax?: number | undefined;
  /** Most runs on their way at once. One alone while the service takes nothing. Default 16. */
  requestsMax?: number | undefined;
}

/** What bounds a run in memory. */
export interface TracingLimits {
  spansMax: number;
  spanCharactersMax: number;
  runCharactersMax: number;
  queueBytesMax: number;
  requestsMax: number;
}

/** Reads the limits. Throws a ConfigurationError that names what is wrong. */
export function readTracingLimits(options: TracingOptions = {}): TracingLimits {
  refuseUnknown('traces.', options, NAMES);
  return {
    spansMax: positive('traces.spansMax', options.spansMax, 5000),
    spanCharactersMax: positive('traces.spanCharactersMax', options.spanCharactersMax, 1_000_000),
    runCharactersMax: positive('traces.runCharactersMax', options.runCharactersMax, 32_000_000),
    queueBytesMax: positive('traces.queueBytesMax', options.queueBytesMax, 100_000_000),
    requestsMax: positive('traces.requestsMax', options.requestsMax, 16),
  };
}

const NAMES: OptionNames<TracingOptions> = {
  spansMax: true,
  spanCharactersMax: true,
  runCharactersMax: true,
  queueBytesMax: true,
  requestsMax: true,
  onDropped: true,
  onRejected: true,
  onUnsent: true,
};
