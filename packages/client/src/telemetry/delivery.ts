import { ENDPOINTS } from '../http/endpoints.ts';
import { ApiError, CountersignError } from '../http/errors.ts';
import { ROUND_ATTEMPTS_MAX } from '../http/retry-pace.ts';
import type { Transport } from '../http/transport.ts';
import { runBeforeExit } from '../runtime/process-exit.ts';
import { backgroundTimer, runSoon, timerMs } from '../runtime/timers.ts';
import type { TelemetryAccepted } from '../wire/contract.ts';
import { outcomeOfFailure } from './after-failure.ts';
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
  #batches: Batch[] = [];
  /** Batches that are being sent. */
  readonly #active = new Set<Batch>();
  #activeSenders = 0;
  /** Number of the last accepted event that is due. This event and all earlier ones are sent even if their batch is not full. */
  #dueUpTo = 0;
  #isStarting = false;
  #stopTimer: (() => void) | undefined;
  #cancelExitTask: (() => void) | undefined;
  #waiters: { target: number; resolve: () => void }[] = [];
  /** One controller per request, because many listeners on one signal cause a warning. */
  readonly #activeRequests = new Set<AbortController>();

  constructor(transport: Transport, settings: TelemetrySettings, reports: TelemetryReports) {
    this.#transport = transport;
    this.#settings = settings;
    this.#reports = reports;
    this.#queue = new EventQueue(settings.queue);
  }

  /** Whether an event of this length fits. Called with 0 before the text of the event is built. */
  hasRoom(units = 0): boolean {
    const { counts } = this;
    return this.#queue.hasRoom(units, counts.taken - counts.settled);
  }

  /** Queues an event's text; false if there is no room. This runs in the host's call, so it must be fast. */
  offer(text: string): boolean {
    if (!this.hasRoom(text.length)) return false;
    this.#queue.push(text);
    this.counts.accepted += 1;
    if (!this.#queue.hasFullBatch(this.#settings.batch)) this.#scheduleSend();
    else if (!this.#isStarting) {
      this.#isStarting = true;
      runSoon(() => this.#run());
    }
    return true;
  }

  /**
   * Sends the queued events, but not before the time in `Retry-After`. Resolves when each of them has an outcome, or when the service is
   * unavailable. Never rejects.
   */
  flush(): Promise<void> {
    const { counts } = this;
    if (counts.settled >= counts.accepted) return Promise.resolve();
    this.#dueUpTo = counts.accepted;
    this.#backoff.resume();
    const flushed = new Promise<void>((resolve) => this.#waiters.push({ target: counts.accepted, resolve }));
    this.#runAfterPause();
    return flushed;
  }

  /** Sends the queued events. Drops unsent events after the time limit, or as soon as the service is unavailable. Never rejects. */
  async end(deadlineMs: number): Promise<void> {
    const { accepted } = this.counts;
    this.#backoff.resumeNow();
    const timer = setTimeout(() => {
      for (const controller of this.#activeRequests) controller.abort();
    }, timerMs(deadlineMs));
    await this.flush();
    clearTimeout(timer);
    if (this.counts.settled >= accepted) return;
    const unsent = this.#batches.reduce((count, { texts }) => count + texts.length, 0) + this.#queue.clear();
    this.#batches = [];
    this.counts.taken = this.counts.accepted;
    this.counts.abandoned += unsent;
    this.#reports.reportDropped(unsent, 'unsent');
    this.#becomeIdle();
  }

  /** Starts as many senders as allowed. After a failed round, only one sender is allowed. */
  #run(): void {
    this.#isStarting = false;
    while (this.#activeSenders < (this.#backoff.isHealthy ? this.#settings.requestsMax : 1) && this.#hasDue()) {
      this.#activeSenders += 1;
      void this.#sendDue();
    }
    if (this.#activeSenders === 0) this.#becomeIdle();
  }

  #hasDue(): boolean {
    if (this.#backoff.msLeft > 0) return false;
    if (this.#batches.length > 0 || this.#queue.hasFullBatch(this.#settings.batch)) return true;
    return this.#queue.size > 0 && this.counts.taken < this.#dueUpTo;
  }

  /** Sends batches until none is due or the service is unavailable. */
  async #sendDue(): Promise<void> {
    while (this.#hasDue()) await this.#deliver(this.#next());
    this.#activeSenders -= 1;
    if (this.#activeSenders === 0) this.#becomeIdle();
  }

  #next(): Batch {
    if (this.#batches.length === 0) {
      const texts = this.#queue.take(this.#settings.batch);
      this.#batches = batchesOf(texts, this.counts.taken + 1, this.#settings.batch);
      this.counts.taken += texts.length;
    }
    return this.#batches.shift()!;
  }

  async #deliver(batch: Batch): Promise<void> {
    const controller = new AbortController();
    this.#activeRequests.add(controller);
    this.#active.add(batch);
    const options = { idempotencyKey: batch.key, signal: controller.signal, attemptsMax: ROUND_ATTEMPTS_MAX };
    try {
      await this.#transport.post<TelemetryAccepted>(ENDPOINTS.telemetry, () => batchBody(batch), options);
      this.counts.sent += batch.texts.length;
      this.#handleSuccess();
    } catch (error) {
      this.#handleFailure(batch, error);
    }
    this.#activeRequests.delete(controller);
    this.#active.delete(batch);
    this.#resolveWaiters();
  }

  #handleSuccess(): void {
    if (this.#backoff.isHealthy) return;
    this.#backoff.recordSuccess();
    this.#runAfterPause();
  }

  /** Sends what is due after a pause has ended early, and replaces the timer that waits for the end of this pause. */
  #runAfterPause(): void {
    this.#cancelTimer();
    this.#run();
    if (this.#queue.size > 0) this.#scheduleSend();
  }

  #handleFailure(batch: Batch, error: unknown): void {
    const { rejected, batchesToSend, dropped, mustWait } = outcomeOfFailure(batch, error);
    this.#batches.unshift(...batchesToSend);
    this.counts.rejected += rejected.length;
    this.counts.abandoned += dropped;
    this.#reports.reportDropped(dropped, 'refused');
    const requestId = error instanceof ApiError ? error.requestId : undefined;
    for (const { text, issues } of rejected) this.#reports.reportRejected({ event: JSON.parse(text), issues, requestId });
    if (!mustWait) return;
    this.#cancelTimer();
    this.#backoff.recordFailure(error instanceof ApiError ? error.retryAfterMs : undefined);
    if (batchesToSend.length > 0 && error instanceof CountersignError)
      this.#reports.reportUnsent({ error, queued: this.counts.stats.queued });
  }

  /** Whether every event up to this number has an outcome. */
  #isSettledUpTo(target: number): boolean {
    return this.counts.taken >= target && [...this.#active, ...this.#batches].every(({ numberMin }) => numberMin > target);
  }

  #resolveWaiters(shouldResolveAll = false): void {
    const resolvable = this.#waiters.filter(({ target }) => shouldResolveAll || this.#isSettledUpTo(target));
    this.#waiters = this.#waiters.filter((waiter) => !resolvable.includes(waiter));
    for (const { resolve } of resolvable) resolve();
  }

  /** Called when no request is active: resolves the waiters, and schedules the next send if events are queued. */
  #becomeIdle(): void {
    this.#resolveWaiters(true);
    if (this.counts.settled < this.counts.accepted) this.#scheduleSend();
    else {
      this.#cancelTimer();
      this.#cancelExitTask?.();
      this.#cancelExitTask = undefined;
    }
  }

  #cancelTimer(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** Schedules the next send: of an incomplete batch after the interval, and of waiting batches after the pause. */
  #scheduleSend(): void {
    this.#cancelExitTask ??= runBeforeExit(() => void this.end(this.#settings.exitDeadlineMs));
    this.#stopTimer ??= backgroundTimer(
      () => {
        this.#stopTimer = undefined;
        this.#dueUpTo = this.counts.accepted;
        this.#run();
      },
      Math.max(this.#batches.length > 0 ? 0 : this.#settings.flushIntervalMs, this.#backoff.msLeft),
    );
  }
}
