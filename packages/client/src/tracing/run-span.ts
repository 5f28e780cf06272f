import type { Message, Span } from '../wire/contract.ts';
import { copyOf, readOr } from './copied-members.ts';
import { errorText } from './error-text.ts';
import { runInContext } from './span-context.ts';
import { Stopwatch } from './stopwatch.ts';
import { tokenUsage } from './token-usage.ts';

/** The fields of a new span; its ID and times are set by this library. */
export type SpanStart = Omit<Span, 'span_id' | 'parent_span_id' | 'started_at' | 'ended_at' | 'latency_ms'>;
/** Fields that can be added later. */
export type SpanDetails = Partial<SpanStart>;

/** A message of a model API, which may have members that this contract does not define. */
export interface MessageLike {
  role: string;
  content?: unknown;
}

/** The functions of a run that its spans call. */
export interface SpanOwner {
  /** Starts a span. */
  begin(start: SpanStart, parentId: string | undefined): RunSpan;
  /** Stores the record of an ended span. */
  keep(span: RunSpan, document: Record<string, unknown>): void;
}

/** A span of a run: one step, such as a model call. Recording never throws: only `span` throws, if its work throws. */
export class RunSpan {
  /** Identifies the span. Another process that continues the run passes this ID as `parent_span_id`. */
  readonly id: string;
  readonly #run: SpanOwner;
  readonly #parentId: string | undefined;
  readonly #watch = new Stopwatch();
  #details: SpanDetails;
  #hasEnded = false;

  /** @internal */
  constructor(run: SpanOwner, id: string, parentId: string | undefined, start: SpanStart) {
    this.#run = run;
    this.id = id;
    this.#parentId = parentId;
    this.#details = copyOf(start);
  }

  /** Adds fields; a field that is set again is replaced. */
  set(details: SpanDetails): this {
    this.#details = { ...this.#details, ...copyOf(details) };
    return this;
  }

  /** Adds the token usage of a model call from OpenAI, Anthropic or Vercel AI, or with the names of this contract. */
  usage(usage: unknown): this {
    return this.set(readOr(() => tokenUsage(usage), {}));
  }

  /** Adds messages of the conversation, in order and in the format of the model API. The role `function` becomes `tool`. */
  messages(messages: readonly MessageLike[]): this {
    if (!Array.isArray(messages)) return this;
    const newMessages = readOr(
      () => messages.map((message) => (message?.role === 'function' ? { ...message, role: 'tool' } : message)),
      [],
    );
    const earlierMessages = Array.isArray(this.#details.messages) ? this.#details.messages : [];
    return this.set({ messages: [...earlierMessages, ...(newMessages as Message[])] });
  }

  /** Marks the span as failed with the thrown value. */
  fail(thrown: unknown): this {
    return this.set({ status: 'failure', error: errorText(thrown) });
  }

  /** Starts a span within this span. The caller ends the new span. */
  startSpan(start: SpanStart): RunSpan {
    return this.#run.begin(start, this.id);
  }

  /** Runs work as a span within this span: see `TraceRun.span`. */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    return this.startSpan(start).runWork(work);
  }

  /** Ends the span and stores its record. A second call has no effect. */
  end(details: SpanDetails = {}): void {
    if (this.#hasEnded) return;
    this.set(details);
    this.#hasEnded = true;
    this.#run.keep(this, this.#document(this.#watch.stop()));
    this.#details = {};
  }

  /** @internal Runs work inside this span. Ends the span when the work returns or throws, or its promise settles. */
  runWork<T>(work: (span: RunSpan) => T): T {
    const failWith = (thrown: unknown): never => {
      this.fail(thrown).end();
      throw thrown;
    };
    try {
      const result = runInContext({ run: this.#run, span: this }, () => work(this));
      if (!isThenable(result)) {
        this.end();
        return result;
      }
      const ended = result.then((value: unknown) => {
        this.end();
        return value;
      }, failWith);
      return ended as T;
    } catch (thrown) {
      return failWith(thrown);
    }
  }

  /** @internal Ends a span that is still open when its run ends, and returns its record. */
  endAsUnfinished(): Record<string, unknown> {
    this.#hasEnded = true;
    const document = this.set({ status: 'unfinished' }).#document(this.#watch.start);
    this.#details = {};
    return document;
  }

  #document(times: object): Record<string, unknown> {
    const parent = this.#parentId === undefined ? {} : { parent_span_id: this.#parentId };
    return { span_id: this.id, ...parent, ...this.#details, ...times };
  }
}

/** Whether a value is a promise of any library. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
