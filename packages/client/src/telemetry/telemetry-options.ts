import { ConfigurationError } from '../http/errors.ts';
import { type OptionNames, rejectUnknownOption } from '../known-options.ts';
import { positiveOption } from '../positive-option.ts';
import type { BatchBounds, QueueBounds } from './event-queue.ts';
import type { TelemetryCallbacks } from './telemetry-reports.ts';

/** How telemetry events are batched and queued. */
export interface TelemetryOptions extends TelemetryCallbacks {
  /** The maximum number of events per request, 1 to 200. Default 200; 1 turns batching off. */
  batchEventsMax?: number | undefined;
  /** The maximum size of a request in bytes; a larger event is sent alone. Default 1,000,000. */
  batchBytesMax?: number | undefined;
  /** Milliseconds after which an incomplete batch is sent. Default 1000. */
  flushIntervalMs?: number | undefined;
  /** The maximum number of queued events; further ones are dropped and counted. Default 50,000. */
  queueEventsMax?: number | undefined;
  /** The maximum number of queued characters of JSON; further events are dropped and counted. Default 32,000,000. */
  queueCharactersMax?: number | undefined;
  /** The maximum number of concurrent requests. While the service is unavailable, only one request is sent at a time. Default 16. */
  requestsMax?: number | undefined;
  /**
   * Milliseconds for sending queued events and runs when the client is closed or the process exits by itself. A process that exits by
   * itself first completes its active requests, within the client's `deadlineMs`. Default 10,000.
   */
  exitDeadlineMs?: number | undefined;
}

/** The checked options with their defaults. */
export interface TelemetrySettings {
  batch: BatchBounds;
  queue: QueueBounds;
  flushIntervalMs: number;
  requestsMax: number;
  exitDeadlineMs: number;
  callbacks: TelemetryCallbacks;
}

const NAMES: OptionNames<TelemetryOptions> = {
  batchEventsMax: true,
  batchBytesMax: true,
  flushIntervalMs: true,
  queueEventsMax: true,
  queueCharactersMax: true,
  requestsMax: true,
  exitDeadlineMs: true,
  onRejected: true,
  onUnsent: true,
  onDropped: true,
};

/** The maximum number of events that the service accepts in one request. */
const SERVICE_EVENTS_MAX = 200;

/** Checks the options. Throws a ConfigurationError that names the wrong option. */
export function readTelemetryOptions(options: TelemetryOptions = {}): TelemetrySettings {
  rejectUnknownOption('telemetry.', options, NAMES);
  const eventsMax = positiveOption('telemetry.batchEventsMax', options.batchEventsMax, SERVICE_EVENTS_MAX);
  if (eventsMax > SERVICE_EVENTS_MAX || !Number.isInteger(eventsMax))
    throw new ConfigurationError(
      `telemetry.batchEventsMax must be a whole number from 1 to ${SERVICE_EVENTS_MAX}, got ${eventsMax}`,
    );
  return {
    batch: { eventsMax, bytesMax: positiveOption('telemetry.batchBytesMax', options.batchBytesMax, 1_000_000) },
    queue: {
      eventsMax: positiveOption('telemetry.queueEventsMax', options.queueEventsMax, 50_000),
      unitsMax: positiveOption('telemetry.queueCharactersMax', options.queueCharactersMax, 32_000_000),
    },
    flushIntervalMs: positiveOption('telemetry.flushIntervalMs', options.flushIntervalMs, 1000),
    requestsMax: positiveOption('telemetry.requestsMax', options.requestsMax, 16),
    exitDeadlineMs: positiveOption('telemetry.exitDeadlineMs', options.exitDeadlineMs, 10_000),
    callbacks: options,
  };
}
