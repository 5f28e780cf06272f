import { refuseBrowser } from './browser-guard.ts';
import { type ClientOptions, readOptions } from './client-options.ts';
import { Transport } from './http/transport.ts';
import { Audit } from './namespaces/audit.ts';
import { Evaluations } from './namespaces/evaluations.ts';
import { Governance } from './namespaces/governance.ts';
import { asyncDispose } from './runtime/async-dispose.ts';
import { withinTime } from './runtime/timers.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import { readTelemetryOptions } from './telemetry/telemetry-options.ts';
import { Traces } from './tracing/traces.ts';

/** A client of one service with one key. Make one for the life of the process. */
export class Countersign {
  readonly #exitDeadlineMs: number;
  readonly telemetry: Telemetry;
  readonly evaluations: Evaluations;
  readonly audit: Audit;
  readonly governance: Governance;
  readonly traces: Traces;

  /** @throws ConfigurationError when an option is wrong, and in a browser. */
  constructor(options: ClientOptions) {
    refuseBrowser();
    const transport = new Transport(readOptions(options));
    const telemetry = readTelemetryOptions(options.telemetry);
    this.#exitDeadlineMs = telemetry.exitDeadlineMs;
    this.telemetry = new Telemetry(transport, telemetry);
    this.evaluations = new Evaluations(transport);
    this.audit = new Audit(transport);
    this.governance = new Governance(transport);
    this.traces = new Traces(transport, options.traces);
  }

  /**
   * Sends queued events, and resolves when they and the runs that have ended are sent, or cannot be sent now. Never rejects. On
   * runtimes that end with the answer to a request, wait for it (`waitUntil`).
   */
  async flush(): Promise<void> {
    await Promise.all([this.telemetry.flush(), this.traces.flush()]);
  }

  /**
   * For the orderly end of a process: sends queued events and takes no more of them, ends the runs that nobody ended. Never rejects.
   * What cannot be sent within the time is given up, and heard by the callbacks.
   * @param options.deadlineMs milliseconds; the option `telemetry.exitDeadlineMs` when left out.
   */
  async close(options?: { deadlineMs?: number }): Promise<void> {
    const events = this.telemetry.close(options);
    await withinTime(this.traces.close(), options?.deadlineMs ?? this.#exitDeadlineMs);
    await events;
  }

  /** `await using client = new Countersign(…)` closes it. */
  [asyncDispose](): Promise<void> {
    return this.close();
  }
}
