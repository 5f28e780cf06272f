import { ApiError } from '../http/errors.ts';
import type { Log } from '../log.ts';
import type { Dropped, DropReason, Unsent } from '../telemetry/telemetry-reports.ts';
import type { Issue, Trace } from '../wire/contract.ts';
import { type RunDocuments, traceOf } from './run-documents.ts';

/** A run that is lost. */
export interface DroppedRun extends Dropped {
  /** The run, to be kept elsewhere, or sent later with `traces.send`. */
  trace: Trace;
}

/** A run that the service will never take, and why. */
export interface RejectedRun {
  trace: Trace;
  /** What is wrong with it. */
  issues: Issue[];
  /** Names the request in the service's log. */
  requestId: string | undefined;
}

/** What the host hears of runs. Whatever a callback throws is ignored. Without one and without a `logger`, the first of its kind is a `console.warn`. */
export interface TraceCallbacks {
  onDropped?: ((dropped: DroppedRun) => void) | undefined;
  onRejected?: ((rejected: RejectedRun) => void) | undefined;
  onUnsent?: ((unsent: Unsent) => void) | undefined;
}

/** Tells the host what became of runs, and never lets it be hurt by it. */
export class TraceReports {
  readonly #callbacks: TraceCallbacks;
  readonly #log: Log;
  readonly #warned = new Set<string>();

  constructor(callbacks: TraceCallbacks, log: Log) {
    this.#callbacks = callbacks;
    this.#log = log;
  }

  dropped(documents: RunDocuments, reason: DropReason): void {
    const { onDropped } = this.#callbacks;
    this.#tell('onDropped', 'error', `a run was dropped: ${reason}`, () =>
      onDropped?.({ count: 1, reason, trace: traceOf(documents) }),
    );
  }

  rejected(documents: RunDocuments, error: ApiError): void {
    const { onRejected } = this.#callbacks;
    const { issues, requestId } = error;
    const [place = ''] = issues.map(({ path, code }) => ` at ${path}: ${code}`);
    this.#tell('onRejected', 'error', `a run was refused: ${error.status} ${error.code ?? ''}${place}`, () =>
      onRejected?.({ trace: traceOf(documents), issues, requestId }),
    );
  }

  unsent(unsent: Unsent): void {
    const { queued, error } = unsent;
    const why = error instanceof ApiError ? `${error.status} ${error.code ?? ''}` : error.message;
    const line = `${queued === 1 ? '1 run waits' : `${queued} runs wait`} to be sent: ${why}`;
    this.#tell('onUnsent', 'warn', line, () => this.#callbacks.onUnsent?.(unsent));
  }

  #tell(name: keyof TraceCallbacks, level: 'warn' | 'error', line: string, call: () => unknown): void {
    this.#log.write(level, line);
    try {
      if (this.#callbacks[name] !== undefined) void Promise.resolve(call()).catch(() => undefined);
      else if (!this.#warned.has(name) && !this.#log.has(level))
        console.warn(`countersign: ${line} (said once; set traces.${name} to hear of all)`);
    } catch {
      // The host's own callback failed: nothing that ending a run may fail with.
    }
    this.#warned.add(name);
  }
}
