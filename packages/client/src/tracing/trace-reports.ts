import { ApiError } from '../http/errors.ts';
import { type Log, withoutKeys } from '../log.ts';
import type { DropReason, SendFailure } from '../telemetry/telemetry-reports.ts';
import type { Issue, Trace } from '../wire/contract.ts';
import { type RunDocuments, traceOf } from './run-documents.ts';

/** A lost run. */
export interface DroppedRun {
  /** Always 1. */
  count: number;
  reason: DropReason;
  /** The run, to store elsewhere or to send later with `traces.send`. */
  trace: Trace;
}

/** A run that the service rejected. */
export interface RejectedRun {
  trace: Trace;
  /** The errors; paths are relative to the trace. */
  issues: Issue[];
  /** Identifies the request in the service's log. */
  requestId: string | undefined;
}

/**
 * Callbacks for runs. Errors that they throw are ignored. Without a callback and without a `logger`, only the first report of each kind
 * is written, with `console.warn`.
 */
export interface TraceCallbacks {
  /** A run is lost. */
  onDropped?: ((dropped: DroppedRun) => void) | undefined;
  /** The service rejected a run. */
  onRejected?: ((rejected: RejectedRun) => void) | undefined;
  /** A request failed. Its run stays queued. */
  onUnsent?: ((unsent: SendFailure) => void) | undefined;
}

/** Calls the host's callbacks and ignores their errors. */
export class TraceReports {
  readonly #callbacks: TraceCallbacks;
  readonly #log: Log;
  readonly #warned = new Set<string>();

  constructor(callbacks: TraceCallbacks, log: Log) {
    this.#callbacks = callbacks;
    this.#log = log;
  }

  reportDropped(documents: RunDocuments, reason: DropReason): void {
    const { onDropped } = this.#callbacks;
    this.#notify('onDropped', 'error', `a run was dropped: ${reason}`, () =>
      onDropped?.({ count: 1, reason, trace: traceOf(documents) }),
    );
  }

  reportRejected(documents: RunDocuments, error: ApiError): void {
    const { onRejected } = this.#callbacks;
    const { issues, requestId } = error;
    const [firstIssue = ''] = issues.map(({ path, code }) => ` at ${path}: ${code}`);
    this.#notify('onRejected', 'error', `a run was rejected: ${error.status} ${error.code ?? ''}${firstIssue}`, () =>
      onRejected?.({ trace: traceOf(documents), issues, requestId }),
    );
  }

  reportUnsent(unsent: SendFailure): void {
    const { queued, error } = unsent;
    const why = error instanceof ApiError ? `${error.status} ${error.code ?? ''}` : error.message;
    const line = `${queued === 1 ? '1 run waits' : `${queued} runs wait`} to be sent: ${why}`;
    this.#notify('onUnsent', 'warn', line, () => this.#callbacks.onUnsent?.(unsent));
  }

  #notify(name: keyof TraceCallbacks, level: 'warn' | 'error', line: string, call: () => unknown): void {
    this.#log.write(level, line);
    try {
      if (this.#callbacks[name] !== undefined) void Promise.resolve(call()).catch(() => undefined);
      else if (!this.#warned.has(name) && !this.#log.has(level))
        console.warn(`countersign: ${withoutKeys(line)} (logged once; set traces.${name} to receive all)`);
    } catch {
      // The host's callback failed. That must not break ending a run.
    }
    this.#warned.add(name);
  }
}
