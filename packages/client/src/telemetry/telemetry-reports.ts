import { ApiError, type CountersignError } from '../http/errors.ts';
import { type Log, withoutKeys } from '../log.ts';
import type { Issue } from '../wire/contract.ts';

/** Why events or runs were lost. */
export type DropReason =
  /** The queue was full when the events were emitted, or the run ended. */
  | 'queue_full'
  /** The events cannot be written as JSON objects: for example, texts, or objects with a circular reference or a BigInt. */
  | 'not_json'
  /** The events were emitted, or the run ended, after `close()`. */
  | 'closed'
  /** They were not sent before the client was closed or the process ended. */
  | 'unsent'
  /** Their request failed repeatedly with an error that does not name its cause, such as 500. */
  | 'refused';

/** Lost events. */
export interface DroppedEvents {
  count: number;
  reason: DropReason;
}

/** An event that the service rejected. It is not sent again. The other events of its batch are sent again. */
export interface RejectedEvent {
  /** The event as emitted. */
  event: unknown;
  /** The errors; paths are relative to the event. */
  issues: Issue[];
  /** Identifies the request in the service's log. */
  requestId: string | undefined;
}

/** Events or runs could not be sent. They stay queued and are sent again. */
export interface SendFailure {
  error: CountersignError;
  /** The number of queued events or runs. */
  queued: number;
}

/**
 * Callbacks for telemetry. Errors that they throw are ignored. Without a callback and without a `logger`, only the first report of each
 * kind is written, with `console.warn`.
 */
export interface TelemetryCallbacks {
  /** Events are lost. */
  onDropped?: ((dropped: DroppedEvents) => void) | undefined;
  /** The service rejected an event. */
  onRejected?: ((rejected: RejectedEvent) => void) | undefined;
  /** A request failed. Its events stay queued. */
  onUnsent?: ((unsent: SendFailure) => void) | undefined;
}

const countText = (count: number, singular: string, plural: string): string =>
  count === 1 ? `1 telemetry event ${singular}` : `${count} telemetry events ${plural}`;

/** Calls the host's callbacks and ignores their errors. */
export class TelemetryReports {
  readonly #callbacks: TelemetryCallbacks;
  readonly #log: Log;
  readonly #drops = new Map<DropReason, number>();
  readonly #warned = new Set<string>();

  constructor(callbacks: TelemetryCallbacks, log: Log) {
    this.#callbacks = callbacks;
    this.#log = log;
  }

  /** Reports lost events. Events lost in the same tick for the same reason are reported together. */
  reportDropped(count: number, reason: DropReason): void {
    if (count === 0) return;
    if (this.#drops.size === 0) queueMicrotask(() => this.#notifyOfDrops());
    this.#drops.set(reason, (this.#drops.get(reason) ?? 0) + count);
  }

  reportRejected(rejected: RejectedEvent): void {
    const [issue] = rejected.issues;
    if (this.#log.has('error'))
      this.#log.write('error', `a telemetry event was rejected at ${issue?.path ?? ''}: ${issue?.code ?? ''}`);
    this.#notify(
      'onRejected',
      'error',
      rejected,
      () => `a telemetry event was rejected: ${issue?.path ?? ''} ${issue?.message ?? ''}`,
    );
  }

  reportUnsent(unsent: SendFailure): void {
    const { queued, error } = unsent;
    const why = error instanceof ApiError ? `${error.status} ${error.code ?? ''}` : error.message;
    if (this.#log.has('warn')) this.#log.write('warn', `${countText(queued, 'is', 'are')} queued: ${why}`);
    this.#notify('onUnsent', 'warn', unsent, () => `${countText(queued, 'is', 'are')} queued: ${error.message}`);
  }

  #notifyOfDrops(): void {
    const drops = [...this.#drops];
    this.#drops.clear();
    for (const [reason, count] of drops) {
      if (this.#log.has('error')) this.#log.write('error', `${countText(count, 'was', 'were')} dropped: ${reason}`);
      this.#notify('onDropped', 'error', { count, reason }, () => `${countText(count, 'was', 'were')} dropped: ${reason}`);
    }
  }

  #notify<Name extends keyof TelemetryCallbacks>(
    name: Name,
    level: 'warn' | 'error',
    what: Parameters<NonNullable<TelemetryCallbacks[Name]>>[0],
    sentence: () => string,
  ): void {
    const callback = this.#callbacks[name] as ((argument: typeof what) => unknown) | undefined;
    try {
      // Without the catch, a callback that returns a rejected promise would end the host's process.
      if (callback !== undefined) void Promise.resolve(callback(what)).catch(() => undefined);
      else if (!this.#warned.has(name) && !this.#log.has(level))
        console.warn(`countersign: ${withoutKeys(sentence())} (logged once; set telemetry.${name} to receive all)`);
    } catch {
      // The host's callback failed. That must not break emitting.
    }
    this.#warned.add(name);
  }
}
