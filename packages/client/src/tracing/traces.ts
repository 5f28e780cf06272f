import { ENDPOINTS } from '../http/endpoints.ts';
import { apiError, CountersignError, ValidationError } from '../http/errors.ts';
import { keepReceipt, receiptOf } from '../http/receipt.ts';
import type { CallOptions, SendOptions, Transport } from '../http/transport.ts';
import type { Log } from '../log.ts';
import { withinTime } from '../runtime/timers.ts';
import type { TelemetryStats } from '../telemetry/delivery-counts.ts';
import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';
import { OpenRuns } from './open-runs.ts';
import { RunQueue } from './run-queue.ts';
import type { RunSpan, SpanStart } from './run-span.ts';
import { currentPlace } from './span-context.ts';
import { TraceReports } from './trace-reports.ts';
import { type TraceRequest, traceRequests } from './trace-requests.ts';
import { type RunStart, TraceRun } from './trace-run.ts';
import { readTracingLimits, type TracingLimits, type TracingOptions } from './tracing-options.ts';

/** What the client's other options say to its traces. */
export interface TracesSettings {
  /** Of one call: the longest time that the end of a run is waited for. */
  deadlineMs: number;
  exitDeadlineMs: number;
  log: Log;
}

/** What agents did, step by step. Scope of the key: `telemetry`. */
export class Traces {
  readonly #transport: Transport;
  readonly #limits: TracingLimits;
  readonly #runs: OpenRuns;
  readonly #queue: RunQueue;
  readonly #closeDeadlineMs: number;
  /** Traces of `send` on their way. */
  readonly #sends = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(transport: Transport, options: TracingOptions = {}, { deadlineMs, exitDeadlineMs, log }: TracesSettings) {
    this.#transport = transport;
    this.#limits = readTracingLimits(options);
    this.#closeDeadlineMs = exitDeadlineMs;
    const { queueBytesMax: bytesMax, requestsMax } = this.#limits;
    this.#queue = new RunQueue(
      ({ head, spans }, call) => this.#sendAll(traceRequests(head, identityOf(JSON.parse(head)), spans), call),
      { bytesMax, requestsMax, deadlineMs, exitDeadlineMs },
      new TraceReports(options, log),
    );
    this.#runs = new OpenRuns((documents) =>
      this.#closing === undefined ? this.#queue.offer(documents) : this.#queue.turnAway(documents, 'closed'),
    );
  }

  /**
   * Sends a trace. Sending the same `trace_id` again merges: spans by `span_id`, the later one wins. One that is too large for a request
   * (500 spans, or some megabytes) travels in several, which the service merges as well. It is tried until the call's deadline, counts
   * for the bound `traces.queueBytesMax`, and `close()` of the client waits for it.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  async send(trace: Trace, options?: CallOptions): Promise<TraceAccepted> {
    if (!Array.isArray(trace?.spans)) return this.#sendNow(traceRequests(jsonBody(trace), '', undefined), options);
    const { spans, ...head } = trace;
    return this.#sendNow(traceRequests(jsonBody(head), identityOf(trace), spans.map(jsonBody)), options);
  }

  /** Begins a run, which is built as it happens; `end` of the run sends it. */
  start(start: RunStart = {}): TraceRun {
    const run = new TraceRun(this.#runs, this.#limits, start);
    this.#runs.add(run);
    return run;
  }

  /**
   * Runs work as a run and gives back what it gives. The run ends when the work has ended, says what was thrown, which is thrown on,
   * and is sent in the background: while the service is away it waits, and `flush()` and `close()` of the client wait for it.
   */
  run<T>(start: RunStart, work: (run: TraceRun) => T): T {
    return this.start(start).around(work);
  }

  /** The span that is open around the caller; undefined outside of spans, and where the runtime has no AsyncLocalStorage. */
  current(): RunSpan | undefined {
    return currentPlace()?.span;
  }

  /**
   * Runs work as a step of the run that the caller is in, within the span that is open there; outside of runs the work alone. For
   * code that calls models and does not know who calls it.
   */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    // Outside of runs the span belongs to a run that nobody sends.
    return (currentPlace()?.run ?? new TraceRun(this.#runs, this.#limits, {})).span(start, work);
  }

  /** What has become of the runs so far. */
  get stats(): TelemetryStats {
    return this.#queue.counts.stats;
  }

  /**
   * Sends the runs that have ended. Resolves when they are settled, or the service takes nothing now: they then stay queued. Waits for
   * what `send` has under way too. Never rejects.
   */
  async flush(): Promise<void> {
    await Promise.all([this.#queue.flush(), Promise.allSettled(this.#sends)]);
  }

  /**
   * Ends the runs that nobody ended, sends what is queued, and drops what cannot be sent within the time. Never rejects. A second call
   * waits for the first.
   * @param options.deadlineMs milliseconds; the option `telemetry.exitDeadlineMs` when left out.
   */
  close({ deadlineMs = this.#closeDeadlineMs }: { deadlineMs?: number } = {}): Promise<void> {
    this.#runs.endForgotten();
    this.#closing ??= Promise.all([
      this.#queue.end(deadlineMs),
      withinTime(
        Promise.allSettled(this.#sends).then(() => undefined),
        deadlineMs,
      ),
    ]).then(() => undefined);
    return this.#closing;
  }

  /** Sends a trace for a caller who waits, within the bound in memory. */
  async #sendNow(requests: readonly TraceRequest[], options: CallOptions | undefined): Promise<TraceAccepted> {
    const bytes = requests.reduce((sum, { body }) => sum + body.length * 2, 0);
    if (!this.#queue.hasRoom(bytes))
      throw new CountersignError(`traces.queueBytesMax (${this.#limits.queueBytesMax}) is reached: other traces wait to be sent`);
    const release = this.#queue.hold(bytes);
    const sending = this.#sendAll(requests, options).finally(() => {
      release();
      this.#sends.delete(sending);
    });
    this.#sends.add(sending);
    return sending;
  }

  /** Sends one request after the other; the answer counts all spans, its totals are those of the merged trace. */
  async #sendAll(requests: readonly TraceRequest[], options: SendOptions = {}): Promise<TraceAccepted> {
    let ingested = 0;
    let accepted: TraceAccepted | undefined;
    for (const [place, { body, firstSpan }] of requests.entries()) {
      const { idempotencyKey: key } = options;
      const own = key === undefined || place === 0 ? options : { ...options, idempotencyKey: `${key}.${place + 1}` };
      accepted = await this.#transport
        .post<TraceAccepted>(ENDPOINTS.traces, () => body, own)
        .catch((error: unknown) => {
          throw error instanceof ValidationError && firstSpan > 0 ? withPlaces(error, firstSpan) : error;
        });
      ingested += accepted.spans_ingested;
    }
    if (requests.length === 1) return accepted!;
    const whole = { ...accepted!, spans_ingested: ingested };
    keepReceipt(whole, receiptOf(accepted!)!);
    return whole;
  }
}

/** What every request of a trace says, so that it belongs to it. */
const identityOf = ({ trace_id, agent_id, agent_name }: Trace): string => JSON.stringify({ trace_id, agent_id, agent_name });

/** The issues of a later request, at the places that the spans have in the whole trace. */
function withPlaces(error: ValidationError, firstSpan: number): Error {
  const issues = error.issues.map((issue) => ({
    ...issue,
    path: issue.path.replace(/^\/spans\/(\d+)/, (_, place) => `/spans/${Number(place) + firstSpan}`),
  }));
  return Object.assign(apiError({ ...error, issues }), { attempts: error.attempts });
}
