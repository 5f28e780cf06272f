import { refuseBrowser } from './browser-guard.ts';
import { type ClientOptions, readOptions } from './client-options.ts';
import { Transport } from './http/transport.ts';
import { Audit } from './namespaces/audit.ts';
import { Evaluations } from './namespaces/evaluations.ts';
import { Governance } from './namespaces/governance.ts';
import { Traces } from './namespaces/traces.ts';
import { asyncDispose } from './runtime/async-dispose.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import { readTelemetryOptions } from './telemetry/telemetry-options.ts';

/** A client of one service with one key. Make one for the life of the process. */
export class Countersign {
  readonly telemetry: Telemetry;
  readonly evaluations: Evaluations;
  readonly audit: Audit;
  readonly governance: Governance;
  readonly traces: Traces;

  /** @throws ConfigurationError when an option is wrong, and in a browser. */
  constructor(options: ClientOptions) {
    refuseBrowser();
    const transport = new Transport(readOptions(options));
    this.telemetry = new Telemetry(transport, readTelemetryOptions(options.telemetry));
    this.evaluations = new Evaluations(transport);
    this.audit = new Audit(transport);
    this.governance = new Governance(transport);
    this.traces = new Traces(transport);
  }

  /** Sends what is queued, without waiting for a full batch or the interval. Never rejects: see `telemetry.flush`. */
  flush(): Promise<void> {
    return this.telemetry.flush();
  }

  /** Sends what is queued and takes no more events; for the orderly end of a process. Never rejects: see `telemetry.close`. */
  close(options?: { deadlineMs?: number }): Promise<void> {
    return this.telemetry.close(options);
  }

  /** `await using client = new Countersign(…)` closes it. */
  [asyncDispose](): Promise<void> {
    return this.close();
  }
}
