import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Log } from '../log.ts';
import { closeLimitMs } from '../runtime/timers.ts';
import type { TelemetryAccepted, TelemetryEvent } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';
import { Delivery } from './delivery.ts';
import type { TelemetryStats } from './delivery-counts.ts';
import type { TelemetrySettings } from './telemetry-options.ts';
import { type DropReason, TelemetryReports } from './telemetry-reports.ts';

/** Lightweight summaries of runs, sent in batches. Traces contain more. Scope of the key: `telemetry`. */
export class Telemetry {
  readonly #transport: Transport;
  readonly #delivery: Delivery;
  readonly #reports: TelemetryReports;
  readonly #closeDeadlineMs: number;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(transport: Transport, settings: TelemetrySettings, log: Log) {
    this.#transport = transport;
    this.#reports = new TelemetryReports(settings.callbacks, log);
    this.#delivery = new Delivery(transport, settings, this.#reports);
    this.#closeDeadlineMs = settings.exitDeadlineMs;
  }

  /**
   * Queues an event in its current state; it is sent in the background. Never throws and never waits. Failures are reported to the
   * callbacks of the option `telemetry`.
   * @returns whether the event was queued. If not, it is dropped and counted. If your process emits faster than events can be sent,
   * `await flush()`.
   */
  emit(event: TelemetryEvent): boolean {
    if (this.#closing !== undefined) return this.#drop('closed');
    // Checked first, so that no text is built while the queue is full.
    if (!this.#delivery.hasRoom()) return this.#drop('queue_full');
    const text = jsonObject(event);
    if (text === undefined) return this.#drop('not_json');
    return this.#delivery.offer(text) || this.#drop('queue_full');
  }

  /**
   * Sends one event, or a batch of 1 to 200 that is stored atomically, and waits for the response.
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  send(events: TelemetryEvent | readonly TelemetryEvent[], options?: CallOptions): Promise<TelemetryAccepted> {
    const body = Array.isArray(events) ? { events } : events;
    return this.#transport.post(ENDPOINTS.telemetry, () => jsonBody(body), options);
  }

  /**
   * Sends the queued events at once, but not before the time in a `Retry-After`. Resolves when each of them is sent, rejected or dropped.
   * If the service is unavailable, the promise resolves earlier, and unsent events stay queued. Never rejects.
   */
  flush(): Promise<void> {
    return this.#delivery.flush();
  }

  /**
   * Queues no more events and sends the queued ones. Drops unsent events after the deadline, or as soon as the service is unavailable.
   * Never rejects. A second call waits for the first.
   * @param options.deadlineMs milliseconds; by default the option `telemetry.exitDeadlineMs`.
   */
  close(options: { deadlineMs?: number } = {}): Promise<void> {
    const deadlineMs = closeLimitMs(options.deadlineMs, this.#closeDeadlineMs);
    this.#closing ??= this.#delivery.end(deadlineMs);
    return this.#closing;
  }

  /** Counts of events by outcome. */
  get stats(): TelemetryStats {
    return this.#delivery.counts.stats;
  }

  #drop(reason: DropReason): false {
    this.#delivery.counts.notAccepted += 1;
    this.#reports.reportDropped(1, reason);
    return false;
  }
}

/** The JSON text of an object; undefined for anything else. Catches errors of getters. */
function jsonObject(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text?.startsWith('{') ? text : undefined;
  } catch {
    return undefined;
  }
}
