import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { PromotionCheck, PromotionDecision } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** May this agent be promoted? Scope of the key: `governance`. */
export class Governance {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Asks whether an agent may be promoted. A blocked decision is an answer and no error: test `allowed`. An error means that nothing
   * was decided, and must never let a promotion pass.
   * @throws the ApiError's class of the status, ConnectionError, TimeoutError, UnexpectedAnswerError.
   */
  checkPromotion(check: PromotionCheck, options?: CallOptions): Promise<PromotionDecision> {
    return this.#transport.post(ENDPOINTS.promotionCheck, () => jsonBody(check), options);
  }
}
