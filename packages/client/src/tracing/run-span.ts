import type { Message, Span } from '../wire/contract.ts';
import { errorText } from './error-text.ts';
import { inPlace } from './span-context.ts';
import { Stopwatch } from './stopwatch.ts';
import { tokenUsage } from './token-usage.ts';
import type { TraceRun } from './trace-run.ts';

/** What a span is told when it begins; ids and times are its own. */
export type SpanStart = Omit<Span, 'span_id' | 'parent_span_id' | 'started_at' | 'ended_at' | 'latency_ms'>;
/** What a span may be told later. */
export type SpanDetails = Partial<SpanStart>;

/** A message as a model interface has it: also with members that this contract does not know. */
export interface MessageLike {
  role: string;
  content?: unknown;
}

/** One step of a run while it happens. Nothing here throws, whatever it is told: the step matters more than its record. */
export class RunSpan {
  /** Identifies the step; another process that goes on with the run gives it as `parent_span_id`. */
  readonly id: string;
  readonly #run: TraceRun;
  readonly #parentId: string | undefined;
  readonly #watch = new Stopwatch();
  #details: SpanDetails;
  #hasEnded = false;

  /** @internal */
  constructor(run: TraceRun, id: string, parentId: string | undefined, start: SpanStart) {
    this.#run = run;
    this.id = id;
    this.#parentId = parentId;
    this.#details = { ...start };
  }

  /** Adds to what the span says; a member said before is replaced. */
  set(details: SpanDetails): this {
    this.#details = { ...this.#details, ...details };
    return this;
  }

  /** Takes what a model call used, as OpenAI, Anthropic or Vercel AI answer it, or in this contract's own names. */
  usage(usage: unknown): this {
    return this.set(tokenUsage(usage));
  }

  /** Adds messages of the conversation, in order, as the model interface has them. */
  messages(messages: readonly MessageLike[]): this {
    if (!Array.isArray(messages)) return this;
    const added = messages.map((message) => (message?.role === 'function' ? { ...message, role: 'tool' } : message));
    return this.set({ messages: [...(this.#details.messages ?? []), ...(added as Message[])] });
  }

  /** Says that the step failed, and why: whatever was thrown. */
  fail(thrown: unknown): this {
    return this.set({ status: 'failure', error: errorText(thrown) });
  }

  /** Begins a step within this one. Whoever begins it ends it. */
  startSpan(start: SpanStart): RunSpan {
    return this.#run.begin(start, this.id);
  }

  /** Runs work as a step within this one: see `TraceRun.span`. */
  span<T>(start: SpanStart, work: (span: RunSpan) => T): T {
    return this.startSpan(start).around(work);
  }

  /** Ends the step; its record is what it says now. Ending it again changes nothing. */
  end(details: SpanDetails = {}): void {
    if (this.#hasEnded) return;
    this.set(details);
    this.#hasEnded = true;
    this.#run.keep(this, this.#document(this.#watch.stop()));
  }

  /** @internal Runs work inside this span, and ends the span when the work has ended, whatever way. */
  around<T>(work: (span: RunSpan) => T): T {
    const failed = (thrown: unknown): never => {
      this.fail(thrown).end();
      throw thrown;
    };
    try {
      const result = inPlace({ run: this.#run, span: this }, () => work(this));
      if (!isThenable(result)) {
        this.end();
        return result;
      }
      const ended = result.then((value: unknown) => {
        this.end();
        return value;
      }, failed);
      return ended as T;
    } catch (thrown) {
      return failed(thrown);
    }
  }

  /** @internal What is known of a span that nobody ended before its run did. */
  unfinished(): Record<string, unknown> {
    this.#hasEnded = true;
    return this.set({ status: 'unfinished' }).#document(this.#watch.start);
  }

  #document(times: object): Record<string, unknown> {
    const parent = this.#parentId === undefined ? {} : { parent_span_id: this.#parentId };
    return { span_id: this.id, ...parent, ...this.#details, ...times };
  }
}

/** Whether something is a promise, of whatever library. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
