import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { DetailedEvaluation, DetailedEvaluationAccepted, Evaluation, EvaluationAccepted } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** How agents were evaluated. Scope of the key: `evaluations`. */
export class Evaluations {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Records the outcome of an evaluation run. Each one is a record of its own; the latest one of an agent counts, whatever its status.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  record(evaluation: Evaluation, options?: CallOptions): Promise<EvaluationAccepted> {
    return this.#transport.post(ENDPOINTS.evaluations, () => jsonBody(evaluation), options);
  }

  /**
   * Records the outcome of an evaluation run with its cases, its time, its suite and what was evaluated. It counts as one of `record`
   * does; its age is from the earlier of `evaluated_at` and the moment of recording. The answer says which pass rate counts.
   * A server that does not have this endpoint yet answers 404: NotFoundError, and nothing is recorded.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  recordDetailed(evaluation: DetailedEvaluation, options?: CallOptions): Promise<DetailedEvaluationAccepted> {
    return this.#transport.post(ENDPOINTS.detailedEvaluations, () => jsonBody(evaluation), options);
  }
}
