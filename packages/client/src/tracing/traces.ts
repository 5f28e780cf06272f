import { IDEMPOTENCY_KEY_LENGTH_MAX } from '@countersign/core/domain/idempotency-key';
import { ENDPOINTS } from '../http/endpoints.ts';
import { apiError, ConfigurationError, CountersignError, ValidationError } from '../http/errors.ts';
import { keepReceipt, receiptOf } from '../http/receipt.ts';
import type { CallOptions, SendOptions, Transport } from '../http/transport.ts';
import type { Log } from '../log.ts';
import { closeLimitMs, waitAtMost } from '../runtime/timers.ts';
import type { TelemetryStats } from '../telemetry/delivery-counts.ts';
import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';
import { OpenRuns } from './open-runs.ts';
import { RunQueue } from './run-queue.ts';
import type { RunSpan, SpanStart } from './run-span.ts';
import { TraceReports } from './trace-reports.ts';
import { type TraceRequest, traceRequests } from './trace-requests.ts';
import { currentRun, type RunStart, TraceRun } from './trace-run.ts';
import { readTracingLimits, type TracingLimits, type TracingOptions } from './tracing-options.ts';

/** Settings from the client's other options. */
export interface TracesSettings {
  /** How long `TraceRun.end` waits for the response, in milliseconds. */
  deadlineMs: number;
  exitDeadlineMs: number;
  log: Log;
}

/** Records runs of agents span by span, and sends complete traces. Scope of the key: `telemetry`. */
export class Traces {
  readonly #transport: Transport;
  readonly #limits: TracingLimits;
  readonly #runs: OpenRuns;
  readonly #queue: RunQueue;
  readonly #closeDeadlineMs: number;
  /** The active calls of `send`. */
  readonly #sends = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(transport: Transport, options: TracingOptions = {}, { deadlineMs, exitDeadlineMs, log }: TracesSettings) {
    this.#transport = transport;
    this.#limits = readTracingLimits(options);
    this.#closeDeadlineMs = exitDeadlineMs;
    const { queueBytesMax: bytesMax, requestsMax } = this.#limits;
    // One exit task for open and queued runs, so that the deadline also limits the requests of the open runs.
    const exitTask = () => {
      this.#runs.endAll();
      void this.#queue.end(exitDeadlineMs);
    };
    this.#queue = new RunQueue(
      ({ head, spans }, call) => this.#sendAll(traceRequests(head, identityOf(JSON.parse(head)), spans), call),
      { bytesMax, requestsMax, deadlineMs, exitTask },
      new TraceReports(options, log),
    );
    this.#runs = new OpenRuns(
      (documents) => (this.#closing === undefined ? this.#queue.offer(documents) : this.#queue.dropNew(documents, 'closed')),
      exitTask,
    );
  }

  /**
   * Sends a trace. If the trace was sent before, the service merges both: a span with the same `span_id` replaces the earlier one. A trace
   * that is too large for one request (over 500 spans, or some megabytes) is split, and the service merges the parts. Each request is
   * retried until `deadlineMs` after its start. The trace counts towards `traces.queueBytesMax`, and `close()` of the client waits for it.
   * The Idempotency-Key of each further request is the given key and the number of the request, such as `KEY.2`.
   * @throws ConfigurationError if the trace is not JSON, an option or the API key is malformed, or the Idempotency-Key is too long for
   * the further requests; CountersignError if `traces.queueBytesMax` is reached; ApiError for an error status; ConnectionError,
   * TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  async send(trace: Trace, options?: CallOptions): Promise<TraceAccepted> {
    if (!Array.isArray(trace?.spans)) return this.#sendNow(traceRequests(jsonBody(trace), '', undefined), options);
    const { spans, ...head } = trace;
    return this.#sendNow(traceRequests(jsonBody(head), identityOf(trace), spans.map(jsonBody)), options);
  }

  /** Starts a run that is built span by span. Call its method `end` to send it. */
  start(start: RunStart = {}): TraceRun {
    const run = new TraceRun(this.#runs, this.#limits, start);
    this.#runs.add(run);
    return run;
  }

  /**
   * Runs work, records it as a run, and returns its result as `TraceRun.span` does. The run ends with the work; an error is recorded and
   * thrown again. The run is sent in the background and queued while the service is unavailable. `flush()` and `close()` of the client wait
   * for it.
   */
  run<T>(start: RunStart, work: (run: TraceRun) => T): T {
    return this.start(start).runWork(work);
  }

  /** The caller's open span; undefined outside of spans and, on runtimes without AsyncLocalStorage, after the first `await`. */
  current(): RunSpan | undefined {
    return currentRun()?.span;
  }

  /**
   * Runs work as a span of the caller's run, within the caller's open span: see `TraceRun.span`. Outside of runs, the work runs without a
   * record. Use this in code that calls models and does not know its caller.
   */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    // Outside of runs the span belongs to a run that is never sent.
    return (currentRun()?.run ?? new TraceRun(this.#runs, this.#limits, {})).span(start, work);
  }

  /** Counts of runs by outcome. */
  get stats(): TelemetryStats {
    return this.#queue.counts.stats;
  }

  /**
   * Sends the ended runs, but not before the time in a `Retry-After`. Resolves when each of them is sent, rejected or dropped. If the
   * service is unavailable, the promise resolves earlier, and unsent runs stay queued. Also waits for active calls of `send`. Never
   * rejects.
   */
  async flush(): Promise<void> {
    await Promise.all([this.#queue.flush(), Promise.allSettled(this.#sends)]);
  }

  /**
   * Ends the open runs as failed, at most the newest 1,000, and sends the queued runs. Drops unsent runs after the deadline, or as soon as
   * the service is unavailable. Waits up to the deadline for active calls of `send`. Never rejects. A second call waits for the first.
   * @param options.deadlineMs milliseconds; by default the option `telemetry.exitDeadlineMs`.
   */
  close(options: { deadlineMs?: number } = {}): Promise<void> {
    const deadlineMs = closeLimitMs(options.deadlineMs, this.#closeDeadlineMs);
    this.#runs.endAll();
    this.#closing ??= Promise.all([
      this.#queue.end(deadlineMs),
      waitAtMost(
        Promise.allSettled(this.#sends).then(() => undefined),
        deadlineMs,
      ),
    ]).then(() => undefined);
    return this.#closing;
  }

  /** Sends a trace without queueing it. Throws a CountersignError if the memory limit is reached. */
  async #sendNow(requests: readonly TraceRequest[], options: CallOptions = {}): Promise<TraceAccepted> {
    requireShortKey(requests.length, options);
    const bytes = requests.reduce((sum, { body }) => sum + body.length * 2, 0);
    if (!this.#queue.hasRoom(bytes))
      throw new CountersignError(`traces.queueBytesMax (${this.#limits.queueBytesMax}) is reached: other traces wait to be sent`);
    const release = this.#queue.reserve(bytes);
    const sending = this.#sendAll(requests, options).finally(() => {
      release();
      this.#sends.delete(sending);
    });
    this.#sends.add(sending);
    return sending;
  }

  /** Sends the requests in order. The result has the number of spans of all requests and the totals of the merged trace. */
  async #sendAll(requests: readonly TraceRequest[], options: SendOptions = {}): Promise<TraceAccepted> {
    let ingested = 0;
    let accepted: TraceAccepted | undefined;
    for (const [index, { body, firstSpan }] of requests.entries()) {
      accepted = await this.#transport
        .post<TraceAccepted>(ENDPOINTS.traces, () => body, { ...options, idempotencyKey: keyOf(index, options) })
        .catch((error: unknown) => {
          throw error instanceof ValidationError && firstSpan > 0 ? withIndexesOfTrace(error, firstSpan) : error;
        });
      ingested += accepted.spans_ingested;
    }
    if (requests.length === 1) return accepted!;
    const whole = { ...accepted!, spans_ingested: ingested };
    keepReceipt(whole, receiptOf(accepted!)!);
    return whole;
  }
}

/** The members that every request of a trace repeats. */
const identityOf = ({ trace_id, agent_id, agent_name }: Trace): string => JSON.stringify({ trace_id, agent_id, agent_name });

/** The Idempotency-Key of a request of a trace. From the second request on, the number of the request is added to the given key. */
const keyOf = (index: number, { idempotencyKey: key }: CallOptions): string | undefined =>
  key === undefined || index === 0 ? key : `${key}.${index + 1}`;

/**
 * Throws if the trace needs several requests and the Idempotency-Key of the last request would be too long. Called before any request is
 * sent.
 */
function requireShortKey(requestCount: number, options: CallOptions): void {
  const excess = (keyOf(requestCount - 1, options)?.length ?? 0) - IDEMPOTENCY_KEY_LENGTH_MAX;
  if (requestCount === 1 || excess <= 0) return;
  const lengthMax = options.idempotencyKey!.length - excess;
  throw new ConfigurationError(
    `idempotencyKey must have at most ${lengthMax} characters for this trace, which needs ${requestCount} requests`,
  );
}

/** The error of a later request, with the span indexes of the whole trace in its issues. */
function withIndexesOfTrace(error: ValidationError, firstSpan: number): Error {
  const issues = error.issues.map((issue) => ({
    ...issue,
    path: issue.path.replace(/^\/spans\/(\d+)/, (_, index) => `/spans/${Number(index) + firstSpan}`),
  }));
  return Object.assign(apiError({ ...error, issues }), { attempts: error.attempts });
}
