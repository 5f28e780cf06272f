import { type OptionNames, rejectUnknownOption } from '../known-options.ts';
import { positiveOption } from '../positive-option.ts';
import type { TraceCallbacks } from './trace-reports.ts';

/** How runs are built and sent. */
export interface TracingOptions extends TraceCallbacks {
  /**
   * The maximum number of recorded spans of a run. The metadata of the run contains the number of spans that were left out. Default 5000.
   */
  spansMax?: number | undefined;
  /**
   * The maximum number of characters of JSON per span, and of the run's own fields. Above this number, fields with free content, such as
   * `input` or `messages`, are left out and listed in the metadata. Default 1,000,000.
   */
  spanCharactersMax?: number | undefined;
  /**
   * The maximum number of characters of JSON of all spans of a run together. Above this number, fields with free content are left out.
   * Default 32,000,000.
   */
  runCharactersMax?: number | undefined;
  /** The maximum memory in bytes of queued runs and active `send` calls. Further runs are dropped; `send` throws. Default 100,000,000. */
  queueBytesMax?: number | undefined;
  /** The maximum number of concurrent requests. While the service is unavailable, only one request is sent at a time. Default 16. */
  requestsMax?: number | undefined;
}

/** The checked limits with their defaults. */
export interface TracingLimits {
  spansMax: number;
  spanCharactersMax: number;
  runCharactersMax: number;
  queueBytesMax: number;
  requestsMax: number;
}

/** Checks the options. Throws a ConfigurationError that names the wrong option. */
export function readTracingLimits(options: TracingOptions = {}): TracingLimits {
  rejectUnknownOption('traces.', options, NAMES);
  return {
    spansMax: positiveOption('traces.spansMax', options.spansMax, 5000),
    spanCharactersMax: positiveOption('traces.spanCharactersMax', options.spanCharactersMax, 1_000_000),
    runCharactersMax: positiveOption('traces.runCharactersMax', options.runCharactersMax, 32_000_000),
    queueBytesMax: positiveOption('traces.queueBytesMax', options.queueBytesMax, 100_000_000),
    requestsMax: positiveOption('traces.requestsMax', options.requestsMax, 16),
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
