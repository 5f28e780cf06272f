import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Log } from '../log.ts';
import type { TelemetryAccepted, TelemetryEvent } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';
import { Delivery } from './delivery.ts';
import type { TelemetryStats } from './delivery-counts.ts';
import type { TelemetrySettings } from './telemetry-options.ts';
import { type DropReason, TelemetryReports } from './telemetry-reports.ts';

/** Lightweight summaries of runs, batched. Traces say more. Scope of the key: `telemetry`. */
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
   * Queues an event, as it is now; it is sent in the background with others. Never throws and never waits: what becomes of it is heard
   * by the callbacks of the option `telemetry`.
   * @returns whether it was queued; when it was not, it is dropped and counted. A host that makes events faster than they can be sent
   * may then `await flush()`.
   */
  emit(event: TelemetryEvent): boolean {
    if (this.#closing !== undefined) return this.#turnAway('closed');
    // Asked first: a host that emits in a loop while the queue is full does not pay for texts that are thrown away.
    if (!this.#delivery.hasRoom()) return this.#turnAway('queue_full');
    const text = jsonObject(event);
    if (text === undefined) return this.#turnAway('not_json');
    return this.#delivery.offer(text) || this.#turnAway('queue_full');
  }

  /**
   * Sends one event, or a batch of 1 to 200 that is stored whole or not at all, and waits for the answer.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  send(events: TelemetryEvent | readonly TelemetryEvent[], options?: CallOptions): Promise<TelemetryAccepted> {
    const body = Array.isArray(events) ? { events } : events;
    return this.#transport.post(ENDPOINTS.telemetry, () => jsonBody(body), options);
  }

  /**
   * Sends what is queued without waiting for a full batch or the interval. Resolves when all that was emitted before is settled, or the
   * service takes nothing now: it then stays queued. Never rejects.
   */
  flush(): Promise<void> {
    return this.#delivery.flush();
  }

  /**
   * Takes no more events, sends what is queued, and drops what cannot be sent within the time. Never rejects. A second call waits for the first.
   * @param options.deadlineMs milliseconds; the option `telemetry.exitDeadlineMs` when left out.
   */
  close({ deadlineMs = this.#closeDeadlineMs }: { deadlineMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#delivery.end(deadlineMs);
    return this.#closing;
  }

  /** What has become of the events so far. */
  get stats(): TelemetryStats {
    return this.#delivery.counts.stats;
  }

  #turnAway(reason: DropReason): false {
    this.#delivery.counts.turnedAway += 1;
    this.#reports.dropped(1, reason);
    return false;
  }
}

/** The JSON text of an object; undefined for whatever is none. Nothing that an object's getters throw gets out. */
function jsonObject(value: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text?.startsWith('{') ? text : undefined;
  } catch {
    return undefined;
  }
}
