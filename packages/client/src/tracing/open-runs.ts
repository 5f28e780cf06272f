import { CountersignError } from '../http/errors.ts';
import { beforeExit } from '../runtime/process-exit.ts';
import type { TraceAccepted } from '../wire/contract.ts';
import { errorText } from './error-text.ts';
import type { TraceRun } from './trace-run.ts';
import type { UnsentRun } from './tracing-options.ts';

/** Runs that are watched for a forgotten end. Beyond, the oldest is forgotten: a host that never ends its runs must not fill its memory. */
const OPEN_MAX = 1000;
/** Runs on their way at once. Beyond, they are given up: while the service is away, each waits for its deadline. */
const SENDING_MAX = 256;

/** What a run is, as JSON texts. */
export interface RunDocuments {
  head: string;
  spans: string[];
}

/** The runs of a client: those that have not ended, and those that are on their way. */
export class OpenRuns {
  readonly #post: (documents: RunDocuments) => Promise<TraceAccepted>;
  readonly #onUnsent: ((unsent: UnsentRun) => void) | undefined;
  readonly #open = new Set<TraceRun>();
  readonly #sending = new Set<Promise<unknown>>();
  #leaveExit: (() => void) | undefined;
  #hasWarned = false;

  constructor(post: (documents: RunDocuments) => Promise<TraceAccepted>, onUnsent: ((unsent: UnsentRun) => void) | undefined) {
    this.#post = post;
    this.#onUnsent = onUnsent;
  }

  /** Watches a run until it ends. */
  add(run: TraceRun): void {
    this.#open.add(run);
    this.#leaveExit ??= beforeExit(() => this.#endForgotten());
    const [oldest] = this.#open;
    if (this.#open.size > OPEN_MAX && oldest !== undefined) this.#open.delete(oldest);
  }

  /** Sends a run that ends. Never rejects. */
  send(run: TraceRun, documentsOf: () => RunDocuments): Promise<TraceAccepted | undefined> {
    this.#open.delete(run);
    if (this.#open.size === 0) {
      this.#leaveExit?.();
      this.#leaveExit = undefined;
    }
    const sending = this.#sent(documentsOf()).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
    return sending;
  }

  /** Resolves when the runs that have ended are sent, or cannot be. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#sending);
  }

  /** Ends the runs that nobody ended, as far as they came, and resolves when all are sent, or cannot be. */
  close(): Promise<void> {
    this.#endForgotten();
    return this.settled();
  }

  async #sent(documents: RunDocuments): Promise<TraceAccepted | undefined> {
    try {
      if (this.#sending.size >= SENDING_MAX) throw new CountersignError(`${SENDING_MAX} runs are on their way already`);
      return await this.#post(documents);
    } catch (error) {
      this.#unsent(error instanceof CountersignError ? error : new CountersignError(errorText(error)), documents);
      return undefined;
    }
  }

  #endForgotten(): void {
    for (const run of [...this.#open]) void run.fail('the run was not ended').end();
  }

  #unsent(error: CountersignError, { head, spans }: RunDocuments): void {
    try {
      const trace = { ...JSON.parse(head), spans: spans.map((span) => JSON.parse(span)) };
      if (this.#onUnsent !== undefined) void Promise.resolve(this.#onUnsent({ error, trace })).catch(() => undefined);
      else if (!this.#hasWarned)
        console.warn(
          `countersign: the run ${trace.trace_id} was not sent: ${error.message} (said once; set traces.onUnsent to hear of all)`,
        );
    } catch {
      // The host's own callback failed: nothing that ending a run may fail with.
    }
    this.#hasWarned = true;
  }
}
