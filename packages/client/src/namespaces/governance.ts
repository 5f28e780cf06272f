import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import { type AttestationVerdict, type PublicKeys, verifyAttestation } from '../verification/verify-attestation.ts';
import { type DecisionTrust, type Verdict, verifyDecision } from '../verification/verify-decision.ts';
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

  /** Whether a decision is as the service signed it: see `verifyDecision`, which needs no client. Sends nothing. */
  verifyDecision(decision: object | string, trust: DecisionTrust): Verdict {
    return verifyDecision(decision, trust);
  }

  /** Whether a decision's attestation is one of the service: see `verifyAttestation`, which needs no client. Sends nothing. */
  verifyAttestation(envelope: object | string, publicKeys: PublicKeys): AttestationVerdict {
    return verifyAttestation(envelope, publicKeys);
  }
}
