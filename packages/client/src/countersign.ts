import { refuseBrowser } from './browser-guard.ts';
import { type ClientOptions, readOptions } from './client-options.ts';
import { Transport } from './http/transport.ts';
import { Audit } from './namespaces/audit.ts';
import { Evaluations } from './namespaces/evaluations.ts';
import { Governance } from './namespaces/governance.ts';
import { asyncDispose } from './runtime/async-dispose.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import { readTelemetryOptions } from './telemetry/telemetry-options.ts';
import { Traces } from './tracing/traces.ts';

/** A client of one service with one key. Make one for the life of the process. */
export class Countersign {
  readonly telemetry: Telemetry;
  readonly evaluations: Evaluations;
  readonly audit: Audit;
  readonly governance: Governance;
  readonly traces: Traces;

  /** @throws ConfigurationError when an option is wrong, and in a browser. */
  constructor(options: ClientOptions = {}) {
    refuseBrowser();
    const settings = readOptions(options);
    const { deadlineMs, log } = settings;
    const transport = new Transport(settings);
    const telemetry = readTelemetryOptions(options.telemetry);
    this.telemetry = new Telemetry(transport, telemetry, log);
    this.evaluations = new Evaluations(transport);
    this.audit = new Audit(transport);
    this.governance = new Governance(transport);
    this.traces = new Traces(transport, options.traces, { deadlineMs, exitDeadlineMs: telemetry.exitDeadlineMs, log });
  }

  /**
   * Sends queued events and ended runs, and resolves when they are sent, or cannot be sent now: they then stay queued. Never rejects. On
   * runtimes that end with the answer to a request, wait for it (`waitUntil`).
   */
  async flush(): Promise<void> {
    await Promise.all([this.telemetry.flush(), this.traces.flush()]);
  }

  /**
   * For the orderly end of a process: ends the runs that nobody ended, sends what is queued and takes no more. Never rejects.
   * What cannot be sent within the time is given up, and heard by the callbacks.
   * @param options.deadlineMs milliseconds; the option `telemetry.exitDeadlineMs` when left out.
   */
  async close(options?: { deadlineMs?: number }): Promise<void> {
    await Promise.all([this.telemetry.close(options), this.traces.close(options)]);
  }

  /** `await using client = new Countersign(…)` closes it. */
  [asyncDispose](): Promise<void> {
    return this.close();
  }
}
