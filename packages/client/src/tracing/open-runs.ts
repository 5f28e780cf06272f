import { beforeExit } from '../runtime/process-exit.ts';
import type { TraceAccepted } from '../wire/contract.ts';
import type { RunDocuments } from './run-documents.ts';
import type { TraceRun } from './trace-run.ts';

/** Runs that are watched for a forgotten end. Beyond, the oldest is forgotten: a host that never ends its runs must not fill its memory. */
const OPEN_MAX = 1000;

/** The runs of a client that have not ended. */
export class OpenRuns {
  readonly #queue: (documents: RunDocuments) => Promise<TraceAccepted | undefined>;
  readonly #open = new Set<TraceRun>();
  #leaveExit: (() => void) | undefined;

  /** @param queue takes the documents of a run that has ended, and never rejects. */
  constructor(queue: (documents: RunDocuments) => Promise<TraceAccepted | undefined>) {
    this.#queue = queue;
  }

  /** Watches a run until it ends. */
  add(run: TraceRun): void {
    this.#open.add(run);
    this.#leaveExit ??= beforeExit(() => this.endForgotten());
    const [oldest] = this.#open;
    if (this.#open.size > OPEN_MAX && oldest !== undefined) this.#open.delete(oldest);
  }

  /** Queues a run that ends. Never rejects. */
  send(run: TraceRun, documentsOf: () => RunDocuments): Promise<TraceAccepted | undefined> {
    this.#open.delete(run);
    if (this.#open.size === 0) {
      this.#leaveExit?.();
      this.#leaveExit = undefined;
    }
    return this.#queue(documentsOf());
  }

  /** Ends the runs that nobody ended, as far as they came. */
  endForgotten(): void {
    for (const run of [...this.#open]) void run.fail('the run was not ended').end();
  }
}
