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

/** A client of one service with one key. Create one per process. */
export class Countersign {
  readonly telemetry: Telemetry;
  readonly evaluations: Evaluations;
  readonly audit: Audit;
  readonly governance: Governance;
  readonly traces: Traces;

  /** @throws ConfigurationError if an option is wrong, and in a browser. */
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
   * Sends queued events and ended runs, but not before the time in a `Retry-After`. Resolves when they are sent, rejected or dropped. If
   * the service is unavailable, the promise resolves earlier, and unsent events and runs stay queued. Also waits for active calls of
   * `traces.send`. Never rejects. On runtimes that stop as soon as your handler has responded, pass the promise to `waitUntil`.
   */
  async flush(): Promise<void> {
    await Promise.all([this.telemetry.flush(), this.traces.flush()]);
  }

  /**
   * Shuts down cleanly: ends open runs as failed (at most the newest 1,000), sends what is queued, and queues no more events or runs.
   * Never rejects. What cannot be sent in time, or while the service is unavailable, is dropped and reported to the callbacks.
   * @param options.deadlineMs milliseconds; by default the option `telemetry.exitDeadlineMs`.
   */
  async close(options?: { deadlineMs?: number }): Promise<void> {
    await Promise.all([this.telemetry.close(options), this.traces.close(options)]);
  }

  /** `await using client = new Countersign(…)` closes the client at the end of its scope. */
  [asyncDispose](): Promise<void> {
    return this.close();
  }
}
