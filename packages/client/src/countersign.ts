import { refuseBrowser } from './browser-guard.ts';
import { type ClientOptions, readOptions } from './client-options.ts';
import { Transport } from './http/transport.ts';
import { Audit } from './namespaces/audit.ts';
import { Evaluations } from './namespaces/evaluations.ts';
import { Governance } from './namespaces/governance.ts';
import { Traces } from './namespaces/traces.ts';

/** A client of one service with one key. Make one for the life of the process. */
export class Countersign {
  readonly evaluations: Evaluations;
  readonly audit: Audit;
  readonly governance: Governance;
  readonly traces: Traces;

  /** @throws ConfigurationError when an option is wrong, and in a browser. */
  constructor(options: ClientOptions) {
    refuseBrowser();
    const transport = new Transport(readOptions(options));
    this.evaluations = new Evaluations(transport);
    this.audit = new Audit(transport);
    this.governance = new Governance(transport);
    this.traces = new Traces(transport);
  }
}
