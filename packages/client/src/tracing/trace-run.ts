import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { errorText } from './error-text.ts';
import type { OpenRuns } from './open-runs.ts';
import { isThenable, RunSpan, type SpanStart } from './run-span.ts';
import { currentPlace, inPlace } from './span-context.ts';
import { boundedDocument } from './span-document.ts';
import { Stopwatch } from './stopwatch.ts';
import type { TracingLimits } from './tracing-options.ts';

/** What a run is told when it begins. */
export interface RunStart extends Omit<Trace, 'trace_id' | 'spans' | 'started_at' | 'ended_at' | 'latency_ms'> {
  /** Identifier of the run; a random one when left out. Runs of one id, also of several processes, are merged by the service. */
  trace_id?: string | undefined;
  /** The span, of another process, that this part of the run belongs to. */
  parent_span_id?: string | undefined;
}
/** What a run may be told later. */
export type RunDetails = Omit<RunStart, 'trace_id' | 'parent_span_id'>;

/** A run that is built as it happens, and sent by one call of `end`. Nothing here throws, but what the work of a span throws. */
export class TraceRun {
  /** Identifier of the run. */
  readonly traceId: string;
  readonly #owner: OpenRuns;
  readonly #limits: TracingLimits;
  readonly #parentId: string | undefined;
  readonly #watch = new Stopwatch();
  /** In the order in which the spans began; a span that has not ended stands here itself. */
  readonly #spans = new Map<string, RunSpan | string>();
  #units = 0;
  #leftOut = 0;
  #details: RunDetails;
  #ended: Promise<TraceAccepted | undefined> | undefined;

  /** @internal */
  constructor(owner: OpenRuns, limits: TracingLimits, { trace_id, parent_span_id, ...details }: RunStart) {
    this.#owner = owner;
    this.#limits = limits;
    this.traceId = trace_id ?? crypto.randomUUID();
    this.#parentId = parent_span_id;
    this.#details = details;
  }

  /** Adds to what the run says; a member said before is replaced. */
  set(details: RunDetails): this {
    this.#details = { ...this.#details, ...details };
    return this;
  }

  /** Says that the run failed, and why: whatever was thrown. */
  fail(thrown: unknown): this {
    return this.set({ outcome: 'failure', error: errorText(thrown) });
  }

  /** Begins a step: within the step that is open around the caller, or directly in the run. Whoever begins it ends it. */
  startSpan(start: SpanStart): RunSpan {
    const place = currentPlace();
    return this.begin(start, (place?.run === this ? place.span?.id : undefined) ?? this.#parentId);
  }

  /**
   * Runs work as a step and gives back what it gives. The step is timed, ends when the work has ended (a promise: when it is settled), and says what was
   * thrown, which is thrown on. Steps that the work begins are within this one: by the span it is given, or wherever AsyncLocalStorage follows.
   */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    return this.startSpan(start).around(work);
  }

  /** Runs work so that `traces.span` and `traces.current` find this run, wherever AsyncLocalStorage follows. */
  within<T>(work: () => T): T {
    return inPlace({ run: this, span: undefined }, work);
  }

  /**
   * Ends the run and queues it; it is sent at once where the service can be reached. What is still open is sent as unfinished. Never
   * rejects, so it need not be awaited: what becomes of it is heard by the callbacks of the option `traces`. Ending it again changes nothing.
   * @returns the service's answer; undefined when the run was lost, or not sent within the client's `deadlineMs`: it then stays queued.
   */
  end(details: RunDetails = {}): Promise<TraceAccepted | undefined> {
    this.#ended ??= this.#owner.send(this, () => this.set(details).#documents());
    return this.#ended;
  }

  /** @internal Ends a run whose work has ended, with what it threw if it did, and passes that on. */
  around<T>(work: (run: TraceRun) => T): T {
    const failed = (thrown: unknown): never => {
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
      }, failed);
      return ended as T;
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /** @internal Begins a step; beyond the limit of steps, or after the end, one that leaves no record. */
  begin(start: SpanStart, parentId: string | undefined): RunSpan {
    const span = new RunSpan(this, randomId(), parentId, start);
    if (this.#spans.size >= this.#limits.spansMax) this.#leftOut += 1;
    else if (this.#ended === undefined) this.#spans.set(span.id, span);
    return span;
  }

  /** @internal Keeps what a step says at its end, as text: its objects may change afterwards. */
  keep(span: RunSpan, document: Record<string, unknown>): void {
    if (this.#ended !== undefined || !this.#spans.has(span.id)) return;
    const { spanCharactersMax, runCharactersMax } = this.#limits;
    const text = boundedDocument(document, Math.min(spanCharactersMax, runCharactersMax - this.#units));
    this.#units += text.length;
    this.#spans.set(span.id, text);
  }

  #documents(): { head: string; spans: string[] } {
    for (const span of this.#spans.values()) if (span instanceof RunSpan) this.keep(span, span.unfinished());
    const leftOut = this.#leftOut === 0 ? {} : { countersign_spans_left_out: this.#leftOut };
    const metadata = { ...this.#details.metadata, ...leftOut };
    const head = { trace_id: this.traceId, ...this.#watch.stop(), ...this.#details };
    const whole = Object.keys(metadata).length === 0 ? head : { ...head, metadata };
    return {
      head: boundedDocument(whole, this.#limits.spanCharactersMax),
      spans: [...this.#spans.values()].filter((span) => typeof span === 'string'),
    };
  }
}

/** 64 random bits, as trace formats have them for spans. */
const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
