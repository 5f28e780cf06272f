import { ApiError, type CountersignError } from '../http/errors.ts';
import type { Log } from '../log.ts';
import type { Issue } from '../wire/contract.ts';

/** Why events were lost. */
export type DropReason =
  /** The queue was full when they were emitted. */
  | 'queue_full'
  /** They are no JSON objects: a circle, a BigInt, a text. */
  | 'not_json'
  /** They were emitted after `close()`. */
  | 'closed'
  /** They were still unsent when the client was closed or the process ended. */
  | 'unsent'
  /** The service refused their request again and again, for reasons of its own (500). */
  | 'refused';

/** Events that are lost. */
export interface Dropped {
  count: number;
  reason: DropReason;
}

/** An event that the service will never take, and why. It is set aside; the rest of its batch is stored. */
export interface Rejected {
  /** The event as it was emitted. */
  event: unknown;
  /** What is wrong with it; paths are those of the event itself. */
  issues: Issue[];
  /** Names the request in the service's log. */
  requestId: string | undefined;
}

/** Events that wait because they cannot be sent now; they are tried again. */
export interface Unsent {
  error: CountersignError;
  /** How many wait. */
  queued: number;
}

/** What the host hears of telemetry. Whatever a callback throws is ignored. Without one and without a `logger`, the first of its kind is a `console.warn`. */
export interface TelemetryCallbacks {
  onDropped?: ((dropped: Dropped) => void) | undefined;
  onRejected?: ((rejected: Rejected) => void) | undefined;
  onUnsent?: ((unsent: Unsent) => void) | undefined;
}

/** Tells the host, and never lets it be hurt by it. */
export class TelemetryReports {
  readonly #callbacks: TelemetryCallbacks;
  readonly #log: Log;
  readonly #drops = new Map<DropReason, number>();
  readonly #warned = new Set<string>();

  constructor(callbacks: TelemetryCallbacks, log: Log) {
    this.#callbacks = callbacks;
    this.#log = log;
  }

  /** Events were lost. Those of one turn are said at once: a host that emits in a loop does not hear each of them. */
  dropped(count: number, reason: DropReason): void {
    if (count === 0) return;
    if (this.#drops.size === 0) queueMicrotask(() => this.#sayDrops());
    this.#drops.set(reason, (this.#drops.get(reason) ?? 0) + count);
  }

  rejected(rejected: Rejected): void {
    const [issue] = rejected.issues;
    if (this.#log.has('error'))
      this.#log.write('error', `a telemetry event was refused at ${issue?.path ?? ''}: ${issue?.code ?? ''}`);
    this.#tell(
      'onRejected',
      'error',
      rejected,
      () => `a telemetry event was set aside: ${issue?.path ?? ''} ${issue?.message ?? ''}`,
    );
  }

  unsent(unsent: Unsent): void {
    const { queued, error } = unsent;
    const why = error instanceof ApiError ? `${error.status} ${error.code ?? ''}` : error.message;
    if (this.#log.has('warn')) this.#log.write('warn', `${queued} telemetry events wait: ${why}`);
    this.#tell('onUnsent', 'warn', unsent, () => `${queued} telemetry events wait: ${error.message}`);
  }

  #sayDrops(): void {
    const drops = [...this.#drops];
    this.#drops.clear();
    for (const [reason, count] of drops) {
      if (this.#log.has('error')) this.#log.write('error', `${count} telemetry events were dropped: ${reason}`);
      this.#tell('onDropped', 'error', { count, reason }, () => `${count} telemetry events were dropped: ${reason}`);
    }
  }

  #tell<Name extends keyof TelemetryCallbacks>(
    name: Name,
    level: 'warn' | 'error',
    what: Parameters<NonNullable<TelemetryCallbacks[Name]>>[0],
    sentence: () => string,
  ): void {
    const callback = this.#callbacks[name] as ((heard: typeof what) => unknown) | undefined;
    try {
      // An async callback that rejects would end the host's process.
      if (callback !== undefined) void Promise.resolve(callback(what)).catch(() => undefined);
      else if (!this.#warned.has(name) && !this.#log.has(level))
        console.warn(`countersign: ${sentence()} (said once; set telemetry.${name} to hear of all)`);
    } catch {
      // The host's own code failed: nothing that emitting an event may fail with.
    }
    this.#warned.add(name);
  }
}
