import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { DetailedEvaluation, DetailedEvaluationAccepted, Evaluation, EvaluationAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** Evaluations of agents. Scope of the key: `evaluations`. */
export class Evaluations {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Records the outcome of an evaluation run. The latest evaluation of an agent counts, whatever its status.
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  record(evaluation: Evaluation, options?: CallOptions): Promise<EvaluationAccepted> {
    return this.#transport.post(ENDPOINTS.evaluations, () => jsonBody(evaluation), options);
  }

  /**
   * Records the outcome of an evaluation run with its cases, time, suite and artifact. It counts like an evaluation that `record` records.
   * Its age is measured from `evaluated_at` or the time of recording, whichever is earlier. The result contains the pass rate that counts.
   * An older server without this endpoint causes a NotFoundError, and nothing is recorded.
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  recordDetailed(evaluation: DetailedEvaluation, options?: CallOptions): Promise<DetailedEvaluationAccepted> {
    return this.#transport.post(ENDPOINTS.detailedEvaluations, () => jsonBody(evaluation), options);
  }
}
