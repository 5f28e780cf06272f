import { ENDPOINTS } from '../http/endpoints.ts';
import { apiError, ValidationError } from '../http/errors.ts';
import { keepReceipt, receiptOf } from '../http/receipt.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';
import { OpenRuns } from './open-runs.ts';
import type { RunSpan, SpanStart } from './run-span.ts';
import { currentPlace } from './span-context.ts';
import { type TraceRequest, traceRequests } from './trace-requests.ts';
import { type RunStart, TraceRun } from './trace-run.ts';
import { readTracingLimits, type TracingLimits, type TracingOptions } from './tracing-options.ts';

/** What agents did, step by step. Scope of the key: `telemetry`. */
export class Traces {
  readonly #transport: Transport;
  readonly #limits: TracingLimits;
  readonly #runs: OpenRuns;

  /** @internal */
  constructor(transport: Transport, options: TracingOptions = {}) {
    this.#transport = transport;
    this.#limits = readTracingLimits(options);
    this.#runs = new OpenRuns(
      ({ head, spans }) => this.#sendAll(traceRequests(head, identityOf(JSON.parse(head)), spans)),
      options.onUnsent,
    );
  }

  /**
   * Sends a trace. Sending the same `trace_id` again merges: spans by `span_id`, the later one wins. One that is too large for a request
   * (500 spans, or some megabytes) travels in several, which the service merges as well.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  async send(trace: Trace, options?: CallOptions): Promise<TraceAccepted> {
    if (!Array.isArray(trace?.spans)) return this.#sendAll(traceRequests(jsonBody(trace), '', undefined), options);
    const { spans, ...head } = trace;
    return this.#sendAll(traceRequests(jsonBody(head), identityOf(trace), spans.map(jsonBody)), options);
  }

  /** Begins a run, which is built as it happens; `end` of the run sends it. */
  start(start: RunStart = {}): TraceRun {
    const run = new TraceRun(this.#runs, this.#limits, start);
    this.#runs.add(run);
    return run;
  }

  /**
   * Runs work as a run and gives back what it gives. The run ends when the work has ended, says what was thrown, which is thrown on,
   * and is sent in the background: `flush()` of the client waits for it.
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

  /** @internal Resolves when the runs that have ended are sent, or cannot be. */
  flush(): Promise<void> {
    return this.#runs.settled();
  }

  /** @internal Ends what nobody ended, and resolves when all is sent, or cannot be. */
  close(): Promise<void> {
    return this.#runs.close();
  }

  /** Sends one request after the other; the answer counts all spans, its totals are those of the merged trace. */
  async #sendAll(requests: readonly TraceRequest[], options: CallOptions = {}): Promise<TraceAccepted> {
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
