import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Trace, TraceAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** What agents did, step by step. Scope of the key: `telemetry`. */
export class Traces {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Sends a trace. Sending the same `trace_id` again merges: spans by `span_id`, the later one wins.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  send(trace: Trace, options?: CallOptions): Promise<TraceAccepted> {
    return this.#transport.post(ENDPOINTS.traces, () => jsonBody(trace), options);
  }
}
