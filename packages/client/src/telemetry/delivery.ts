import { ENDPOINTS } from '../http/endpoints.ts';
import { ApiError, CountersignError } from '../http/errors.ts';
import { ROUND_ATTEMPTS_MAX } from '../http/retry-pace.ts';
import type { Transport } from '../http/transport.ts';
import { beforeExit } from '../runtime/process-exit.ts';
import { backgroundTimer, soon } from '../runtime/timers.ts';
import type { TelemetryAccepted } from '../wire/contract.ts';
import { afterFailure } from './after-failure.ts';
import { Backoff } from './backoff.ts';
import { type Batch, batchBody, batchesOf } from './batch.ts';
import { DeliveryCounts } from './delivery-counts.ts';
import { EventQueue } from './event-queue.ts';
import type { TelemetrySettings } from './telemetry-options.ts';
import type { TelemetryReports } from './telemetry-reports.ts';

/** Sends queued events: full batches at once, smaller ones after the interval or on flush, with limited concurrency. */
export class Delivery {
  readonly counts = new DeliveryCounts();
  readonly #transport: Transport;
  readonly #settings: TelemetrySettings;
  readonly #reports: TelemetryReports;
  readonly #queue: EventQueue;
  readonly #backoff = new Backoff();
  /** Batches to send before the queue: retries and parts of a batch. */
  #made: Batch[] = [];
  #lanes = 0;
  /** Up to this many accepted events, batches are sent even if they are not full. */
  #dueUpTo = 0;
  #isStarting = false;
  #stopTimer: (() => void) | undefined;
  #leaveExit: (() => void) | undefined;
  #waiters: { target: number; resolve: () => void }[] = [];
  /** One controller per request, because many listeners on one signal cause a warning. */
  readonly #activeRequests = new Set<AbortController>();

  constructor(transport: Transport, settings: TelemetrySettings, reports: TelemetryReports) {
    this.#transport = transport;
    this.#settings = settings;
    this.#reports = reports;
    this.#queue = new EventQueue(settings.queue);
  }

  /** Whether an event of this length fits. Called with 0 before its text is built. */
  hasRoom(units = 0): boolean {
    const { counts } = this;
    return this.#queue.hasRoom(units, counts.taken - counts.settled);
  }

  /** Queues an event's text; false if there is no room. This runs in the host's call, so it must be fast. */
  offer(text: string): boolean {
    if (!this.hasRoom(text.length)) return false;
    this.#queue.push(text);
    this.counts.accepted += 1;
    if (!this.#queue.hasFullBatch(this.#settings.batch)) this.#wake();
    else if (!this.#isStarting) {
      this.#isStarting = true;
      soon(() => this.#run());
    }
    return true;
  }

  /** Sends what is queued. Resolves when all of it is settled, or the service is unavailable. Never rejects. */
  flush(): Promise<void> {
    const { counts } = this;
    if (counts.settled >= counts.accepted) return Promise.resolve();
    this.#dueUpTo = counts.accepted;
    this.#backoff.resume();
    const done = new Promise<void>((resolve) => this.#waiters.push({ target: counts.accepted, resolve }));
    this.#run();
    return done;
  }

  /** Sends what is queued within a time limit, and drops the rest. Never rejects. */
  async end(deadlineMs: number): Promise<void> {
    const { accepted } = this.counts;
    const timer = setTimeout(() => {
      for (const controller of this.#activeRequests) controller.abort();
    }, deadlineMs);
    await this.flush();
    clearTimeout(timer);
    if (this.counts.settled >= accepted) return;
    const left = this.#made.reduce((count, { texts }) => count + texts.length, 0) + this.#queue.clear();
    this.#made = [];
    this.counts.taken = this.counts.accepted;
    this.counts.abandoned += left;
    this.#reports.dropped(left, 'unsent');
    this.#rest();
  }

  /** Starts as many requests as allowed. After a failed round only one is sent. */
  #run(): void {
    this.#isStarting = false;
    while (this.#lanes < (this.#backoff.isHealthy ? this.#settings.requestsMax : 1) && this.#hasDue()) {
      this.#lanes += 1;
      void this.#lane();
    }
    if (this.#lanes === 0) this.#rest();
  }

  #hasDue(): boolean {
    if (this.#backoff.msLeft > 0) return false;
    if (this.#made.length > 0 || this.#queue.hasFullBatch(this.#settings.batch)) return true;
    return this.#queue.size > 0 && this.counts.taken < this.#dueUpTo;
  }

  /** Sends batches until none is due or the service is unavailable. */
  async #lane(): Promise<void> {
    while (this.#hasDue()) await this.#deliver(this.#next());
    this.#lanes -= 1;
    if (this.#lanes === 0) this.#rest();
  }

  #next(): Batch {
    if (this.#made.length === 0) {
      const texts = this.#queue.take(this.#settings.batch);
      this.counts.taken += texts.length;
      this.#made = batchesOf(texts, this.#settings.batch);
    }
    return this.#made.shift()!;
  }

  async #deliver(batch: Batch): Promise<void> {
    const controller = new AbortController();
    this.#activeRequests.add(controller);
    const options = { idempotencyKey: batch.key, signal: controller.signal, attemptsMax: ROUND_ATTEMPTS_MAX };
    try {
      await this.#transport.post<TelemetryAccepted>(ENDPOINTS.telemetry, () => batchBody(batch), options);
      this.counts.sent += batch.texts.length;
      this.#succeeded();
    } catch (error) {
      this.#failed(batch, error);
    }
    this.#activeRequests.delete(controller);
    this.#tellWaiters();
  }

  #succeeded(): void {
    if (this.#backoff.isHealthy) return;
    this.#backoff.succeeded();
    this.#run();
  }

  #failed(batch: Batch, error: unknown): void {
    const { rejected, again, dropped, mustWait } = afterFailure(batch, error);
    this.#made.unshift(...again);
    this.counts.rejected += rejected.length;
    this.counts.abandoned += dropped;
    this.#reports.dropped(dropped, 'refused');
    const requestId = error instanceof ApiError ? error.requestId : undefined;
    for (const { text, issues } of rejected) this.#reports.rejected({ event: JSON.parse(text), issues, requestId });
    if (!mustWait) return;
    this.#backoff.failed(error instanceof ApiError ? error.retryAfterMs : undefined);
    if (error instanceof CountersignError) this.#reports.unsent({ error, queued: this.counts.stats.queued });
  }

  #tellWaiters(all = false): void {
    const { settled } = this.counts;
    const reached = this.#waiters.filter(({ target }) => all || target <= settled);
    this.#waiters = this.#waiters.filter((waiter) => !reached.includes(waiter));
    for (const { resolve } of reached) resolve();
  }

  /** Called when no request is active: resolves the waiters and schedules the rest. */
  #rest(): void {
    this.#tellWaiters(true);
    if (this.counts.settled < this.counts.accepted) this.#wake();
    else {
      this.#stopTimer?.();
      this.#leaveExit?.();
      this.#stopTimer = this.#leaveExit = undefined;
    }
  }

  /** Schedules the next send of queued events. */
  #wake(): void {
    this.#leaveExit ??= beforeExit(() => void this.end(this.#settings.exitDeadlineMs));
    this.#stopTimer ??= backgroundTimer(
      () => {
        this.#stopTimer = undefined;
        this.#dueUpTo = this.counts.accepted;
        this.#run();
      },
      Math.max(this.#settings.flushIntervalMs, this.#backoff.msLeft),
    );
  }
}
