import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { copyOf } from './copied-members.ts';
import { errorText } from './error-text.ts';
import type { RunDocuments } from './run-documents.ts';
import { isThenable, RunSpan, type SpanStart } from './run-span.ts';
import { currentContext, runInContext } from './span-context.ts';
import { boundedDocument } from './span-document.ts';
import { Stopwatch } from './stopwatch.ts';
import type { TracingLimits } from './tracing-options.ts';

/** The fields of a new run. */
export interface RunStart extends Omit<Trace, 'trace_id' | 'spans' | 'started_at' | 'ended_at' | 'latency_ms'> {
  /** Identifier of the run; random by default. The service merges runs with the same ID, even from several processes. */
  trace_id?: string | undefined;
  /** The span of another process that this part of the run belongs to. */
  parent_span_id?: string | undefined;
}
/** Fields that can be added later. */
export type RunDetails = Omit<RunStart, 'trace_id' | 'parent_span_id'>;

/** Sends ended runs. */
export interface RunOwner {
  /** Queues an ended run. Never rejects. */
  send(run: TraceRun, documentsOf: () => RunDocuments): Promise<TraceAccepted | undefined>;
}

/** The run and the innermost open span of the running code. The span is undefined outside of spans. */
export function currentRun(): { run: TraceRun; span: RunSpan | undefined } | undefined {
  const { run, span } = currentContext() ?? {};
  return run instanceof TraceRun ? { run, span: span instanceof RunSpan ? span : undefined } : undefined;
}

/** A run that is built span by span and sent by `end`. Recording never throws: only `span` and `within` throw, if their work throws. */
export class TraceRun {
  /** Identifier of the run. */
  readonly traceId: string;
  readonly #owner: RunOwner;
  readonly #limits: TracingLimits;
  readonly #parentId: string | undefined;
  readonly #watch = new Stopwatch();
  /** Spans by ID, in the order in which they started: open ones as objects, ended ones as JSON texts. */
  readonly #spans = new Map<string, RunSpan | string>();
  #units = 0;
  #spansLeftOut = 0;
  #details: RunDetails;
  #ended: Promise<TraceAccepted | undefined> | undefined;

  /** @internal */
  constructor(owner: RunOwner, limits: TracingLimits, start: RunStart) {
    const { trace_id, parent_span_id, ...details } = copyOf(start);
    this.#owner = owner;
    this.#limits = limits;
    this.traceId = trace_id ?? crypto.randomUUID();
    this.#parentId = parent_span_id;
    this.#details = details;
  }

  /** Adds fields; a field that is set again is replaced. */
  set(details: RunDetails): this {
    this.#details = { ...this.#details, ...copyOf(details) };
    return this;
  }

  /** Marks the run as failed with the thrown value. */
  fail(thrown: unknown): this {
    return this.set({ outcome: 'failure', error: errorText(thrown) });
  }

  /** Starts a span: within the caller's open span, or directly in the run. The caller ends the new span. */
  startSpan(start: SpanStart): RunSpan {
    const current = currentRun();
    return this.begin(start, (current?.run === this ? current.span?.id : undefined) ?? this.#parentId);
  }

  /**
   * Runs work as a span and returns the result of the work. The span ends when the work returns or throws, or when its promise settles.
   * An error is recorded and thrown again. If the work returns a promise, the result is a new promise, which lacks additional methods of
   * the original one, such as `withResponse` of a model client. Spans that the work starts are nested in this span if they are started on
   * the span that the work receives, or if the runtime has AsyncLocalStorage.
   */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    return this.startSpan(start).runWork(work);
  }

  /** Runs work so that `traces.span` adds spans to this run. Without AsyncLocalStorage, this works only until the first `await`. */
  within<T>(work: () => T): T {
    return runInContext({ run: this, span: undefined }, work);
  }

  /**
   * Ends the run and queues it for sending. Open spans are sent as unfinished. Never rejects, so it need not be awaited; failures are
   * reported to the callbacks of the option `traces`. A second call has no effect.
   * @returns the response; undefined if the run was rejected or dropped, or if it is still queued after the client's `deadlineMs`.
   */
  end(details: RunDetails = {}): Promise<TraceAccepted | undefined> {
    this.#ended ??= this.#owner.send(this, () => this.set(details).#documents());
    return this.#ended;
  }

  /** @internal Runs work and ends the run with it. Returns the result of the work, or throws its error again. */
  runWork<T>(work: (run: TraceRun) => T): T {
    const failWith = (thrown: unknown): never => {
      void this.fail(thrown).end();
      throw thrown;
    };
    try {
      const result = this.within(() => work(this));
      if (!isThenable(result)) {
        void this.end();
        return result;
      }
      const ended = result.then((value: unknown) => {
        void this.end();
        return value;
      }, failWith);
      return ended as T;
    } catch (thrown) {
      return failWith(thrown);
    }
  }

  /** @internal Starts a span. Beyond the limit of spans, or after the end of the run, the span is not recorded. */
  begin(start: SpanStart, parentId: string | undefined): RunSpan {
    const span = new RunSpan(this, randomId(), parentId, start);
    if (this.#spans.size >= this.#limits.spansMax) this.#spansLeftOut += 1;
    else if (this.#ended === undefined) this.#spans.set(span.id, span);
    return span;
  }

  /** @internal Stores the record of an ended span as text, because the objects in the record may change afterwards. */
  keep(span: RunSpan, document: Record<string, unknown>): void {
    if (this.#ended !== undefined || !this.#spans.has(span.id)) return;
    const { spanCharactersMax, runCharactersMax } = this.#limits;
    const text = boundedDocument(document, Math.min(spanCharactersMax, runCharactersMax - this.#units));
    this.#units += text.length;
    this.#spans.set(span.id, text);
  }

  /** Builds the documents and releases their sources: asynchronous work that was started in the run can keep the run in memory. */
  #documents(): RunDocuments {
    for (const span of this.#spans.values()) if (span instanceof RunSpan) this.keep(span, span.endAsUnfinished());
    const whole = { trace_id: this.traceId, ...this.#watch.stop(), ...this.#details };
    const head = boundedDocument(whole, this.#limits.spanCharactersMax);
    const spans = [...this.#spans.values()].filter((span) => typeof span === 'string');
    this.#spans.clear();
    this.#details = {};
    return { head: this.#spansLeftOut === 0 ? head : withSpansLeftOut(head, this.#spansLeftOut), spans };
  }
}

/** Adds the number of unrecorded spans to a bounded document, so that the number stays even if the metadata was too long. */
function withSpansLeftOut(head: string, count: number): string {
  const run: Trace = JSON.parse(head);
  return JSON.stringify({ ...run, metadata: { ...run.metadata, countersign_spans_left_out: count } });
}

/** 64 random bits, the usual size of span IDs. */
const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
