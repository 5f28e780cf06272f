import { runBeforeExit } from '../runtime/process-exit.ts';
import type { TraceAccepted } from '../wire/contract.ts';
import type { RunDocuments } from './run-documents.ts';
import type { RunOwner, TraceRun } from './trace-run.ts';

/**
 * The maximum number of tracked runs. Beyond this number, the oldest run is no longer tracked: runs that never end must not fill the
 * memory.
 */
const OPEN_RUNS_MAX = 1000;

/** The open runs of a client, at most the newest OPEN_RUNS_MAX. */
export class OpenRuns implements RunOwner {
  readonly #queue: (documents: RunDocuments) => Promise<TraceAccepted | undefined>;
  readonly #exitTask: () => void;
  readonly #open = new Set<TraceRun>();
  #cancelExitTask: (() => void) | undefined;

  /**
   * @param queue receives the documents of an ended run, and never rejects.
   * @param exitTask ends the open runs and sends the queued ones. Called when the process is about to exit.
   */
  constructor(queue: (documents: RunDocuments) => Promise<TraceAccepted | undefined>, exitTask: () => void) {
    this.#queue = queue;
    this.#exitTask = exitTask;
  }

  /** Tracks a run until it ends. */
  add(run: TraceRun): void {
    this.#open.add(run);
    this.#cancelExitTask ??= runBeforeExit(() => this.#exitTask());
    const [oldest] = this.#open;
    if (this.#open.size > OPEN_RUNS_MAX && oldest !== undefined) this.#open.delete(oldest);
  }

  /** Queues an ended run. Never rejects. */
  send(run: TraceRun, documentsOf: () => RunDocuments): Promise<TraceAccepted | undefined> {
    this.#open.delete(run);
    if (this.#open.size === 0) {
      this.#cancelExitTask?.();
      this.#cancelExitTask = undefined;
    }
    return this.#queue(documentsOf());
  }

  /** Ends all tracked runs as failed. */
  endAll(): void {
    for (const run of [...this.#open]) void run.fail('the run was not ended').end();
  }
}
