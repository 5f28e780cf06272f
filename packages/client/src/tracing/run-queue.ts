import { ApiError, CountersignError } from '../http/errors.ts';
import { ROUND_ATTEMPTS_MAX } from '../http/retry-pace.ts';
import type { SendOptions } from '../http/transport.ts';
import { runBeforeExit } from '../runtime/process-exit.ts';
import { backgroundTimer, timerMs } from '../runtime/timers.ts';
import { isPermanent, isUnexplainedFailure, UNEXPLAINED_FAILURES_MAX } from '../telemetry/after-failure.ts';
import { Backoff } from '../telemetry/backoff.ts';
import { DeliveryCounts } from '../telemetry/delivery-counts.ts';
import type { TraceAccepted } from '../wire/contract.ts';
import { bytesOf, type RunDocuments, responseWithin } from './run-documents.ts';
import type { TraceReports } from './trace-reports.ts';

/** A run that is queued or being sent. */
interface QueuedRun {
  /** Runs are numbered in the order in which they were accepted. */
  number: number;
  documents: RunDocuments;
  /** Each attempt uses the same key, because the outcome of an earlier attempt may be unknown. */
  idempotencyKey: string;
  unexplainedFailures: number;
  settle(response: TraceAccepted | undefined): void;
}

/** Settings of the queue. */
export interface RunQueueSettings {
  bytesMax: number;
  requestsMax: number;
  /** How long `TraceRun.end` waits for the response. Without a response in this time, the run stays queued. */
  deadlineMs: number;
  /** Ends the open runs and sends the queued ones. Called when the process is about to exit. */
  exitTask: () => void;
}

/** Sends the documents of a run. */
export type PostRun = (documents: RunDocuments, options: SendOptions) => Promise<TraceAccepted>;

/** Sends ended runs. While the service is unavailable, they are queued up to a limit in bytes and retried after growing pauses. */
export class RunQueue {
  readonly counts = new DeliveryCounts();
  readonly #post: PostRun;
  readonly #settings: RunQueueSettings;
  readonly #reports: TraceReports;
  readonly #backoff = new Backoff();
  readonly #activeRequests = new Map<AbortController, QueuedRun>();
  #queued: QueuedRun[] = [];
  #bytes = 0;
  #waiters: { target: number; resolve: () => void }[] = [];
  #stopTimer: (() => void) | undefined;
  #cancelExitTask: (() => void) | undefined;

  constructor(post: PostRun, settings: RunQueueSettings, reports: TraceReports) {
    this.#post = post;
    this.#settings = settings;
    this.#reports = reports;
  }

  /** Whether a run of this size fits. If nothing is queued or being sent, any run fits, because it is in memory already. */
  hasRoom(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#settings.bytesMax;
  }

  /** Counts memory of a run in the queue, or of a trace that is sent outside of it. Returns a function that releases this memory. */
  reserve(bytes: number): () => void {
    this.#bytes += bytes;
    return () => {
      this.#bytes -= bytes;
    };
  }

  /** Queues a run. Resolves with the response, or with undefined if the run is rejected, dropped or still queued after the deadline. */
  offer(documents: RunDocuments): Promise<TraceAccepted | undefined> {
    const bytes = bytesOf(documents);
    if (!this.hasRoom(bytes)) return this.dropNew(documents, 'queue_full');
    this.counts.accepted += 1;
    const release = this.reserve(bytes);
    const response = new Promise<TraceAccepted | undefined>((resolve) => {
      const settle = (response: TraceAccepted | undefined) => {
        release();
        resolve(response);
      };
      const number = this.counts.accepted;
      this.#queued.push({ number, documents, idempotencyKey: crypto.randomUUID(), unexplainedFailures: 0, settle });
    });
    this.#cancelExitTask ??= runBeforeExit(() => this.#settings.exitTask());
    this.#run();
    return responseWithin(response, this.#settings.deadlineMs);
  }

  /** Drops a run that is not accepted, and reports it. */
  dropNew(documents: RunDocuments, reason: 'queue_full' | 'closed'): Promise<undefined> {
    this.counts.notAccepted += 1;
    this.#reports.reportDropped(documents, reason);
    return Promise.resolve(undefined);
  }

  /**
   * Sends the queued runs, but not before the time in `Retry-After`. Resolves when each of them has an outcome, or when the service is
   * unavailable. Never rejects.
   */
  flush(): Promise<void> {
    const { accepted, settled } = this.counts;
    if (settled >= accepted) return Promise.resolve();
    this.#backoff.resume();
    const flushed = new Promise<void>((resolve) => this.#waiters.push({ target: accepted, resolve }));
    this.#run();
    return flushed;
  }

  /** Sends the queued runs. Drops unsent runs after the time limit, or as soon as the service is unavailable. Never rejects. */
  async end(deadlineMs: number): Promise<void> {
    this.#backoff.resumeNow();
    const timer = setTimeout(() => {
      for (const controller of this.#activeRequests.keys()) controller.abort();
    }, timerMs(deadlineMs));
    await this.flush();
    clearTimeout(timer);
    const unsent = this.#queued;
    this.#queued = [];
    for (const run of unsent) this.#drop(run, 'unsent');
    this.#becomeIdle();
  }

  #run(): void {
    const requestsMax = this.#backoff.isHealthy ? this.#settings.requestsMax : 1;
    while (this.#activeRequests.size < requestsMax && this.#queued.length > 0 && this.#backoff.msLeft === 0)
      void this.#deliver(this.#queued.shift()!);
    if (this.#activeRequests.size === 0) this.#becomeIdle();
  }

  async #deliver(run: QueuedRun): Promise<void> {
    const controller = new AbortController();
    this.#activeRequests.set(controller, run);
    const { idempotencyKey } = run;
    try {
      const options = { idempotencyKey, signal: controller.signal, attemptsMax: ROUND_ATTEMPTS_MAX };
      const response = await this.#post(run.documents, options);
      this.counts.sent += 1;
      this.#backoff.recordSuccess();
      run.settle(response);
    } catch (error) {
      this.#handleFailure(run, error);
    }
    this.#activeRequests.delete(controller);
    this.#resolveWaiters();
    this.#run();
  }

  #handleFailure(run: QueuedRun, error: unknown): void {
    if (isPermanent(error)) {
      this.counts.rejected += 1;
      run.settle(undefined);
      this.#reports.reportRejected(run.documents, error);
      return;
    }
    this.#backoff.recordFailure(error instanceof ApiError ? error.retryAfterMs : undefined);
    if (isUnexplainedFailure(error)) run.unexplainedFailures += 1;
    if (run.unexplainedFailures >= UNEXPLAINED_FAILURES_MAX) {
      this.#drop(run, 'refused');
      return;
    }
    this.#queued.unshift(run);
    if (error instanceof CountersignError) this.#reports.reportUnsent({ error, queued: this.counts.stats.queued });
  }

  #drop(run: QueuedRun, reason: 'unsent' | 'refused'): void {
    this.counts.abandoned += 1;
    run.settle(undefined);
    this.#reports.reportDropped(run.documents, reason);
  }

  /** Whether every run up to this number has an outcome. */
  #isSettledUpTo(target: number): boolean {
    const isLater = ({ number }: QueuedRun) => number > target;
    return this.#queued.every(isLater) && [...this.#activeRequests.values()].every(isLater);
  }

  #resolveWaiters(shouldResolveAll = false): void {
    const resolvable = this.#waiters.filter(({ target }) => shouldResolveAll || this.#isSettledUpTo(target));
    this.#waiters = this.#waiters.filter((waiter) => !resolvable.includes(waiter));
    for (const { resolve } of resolvable) resolve();
  }

  /** Called when no request is active. Queued runs are sent after the pause, or before the process exits. */
  #becomeIdle(): void {
    this.#resolveWaiters(true);
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#queued.length > 0) this.#stopTimer = backgroundTimer(() => this.#run(), this.#backoff.msLeft + 1);
    else {
      this.#cancelExitTask?.();
      this.#cancelExitTask = undefined;
    }
  }
}
