import { ATTESTATION_PREFERENCE } from '@countersign/core/domain/attestation';
import { ENDPOINTS } from '../http/endpoints.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import { type AttestationVerdict, type PublicKeys, verifyAttestation } from '../verification/verify-attestation.ts';
import { type DecisionTrust, type Verdict, verifyDecision } from '../verification/verify-decision.ts';
import type { PromotionCheck, PromotionDecision } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** What a promotion check may say for itself. */
export interface CheckOptions extends CallOptions {
  /**
   * Asks for the decision's attestation as well. It comes as the header `countersign-attestation` of the answer's receipt, and
   * `verifyDecision` checks it with the service's public keys: no shared secret is needed.
   */
  attestation?: boolean | undefined;
  /**
   * A new random value, 16 to 64 characters of base64url, which the signed decision repeats as `nonce`: compare the two, and an older
   * decision cannot pass for the answer.
   */
  nonce?: string | undefined;
}

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
  checkPromotion(
    check: PromotionCheck,
    { attestation = false, nonce, ...options }: CheckOptions = {},
  ): Promise<PromotionDecision> {
    const headers = {
      ...(attestation ? { prefer: ATTESTATION_PREFERENCE } : {}),
      ...(nonce === undefined ? {} : { 'countersign-nonce': nonce }),
    };
    return this.#transport.post(ENDPOINTS.promotionCheck, () => jsonBody(check), { ...options, headers });
  }

  /** Whether a decision is as the service signed it: see `verifyDecision`, which needs no client. Sends nothing. */
  verifyDecision(decision: object | string, trust: DecisionTrust): Verdict {
    return verifyDecision(decision, trust);
  }

  /** Whether a decision's attestation is one of the service: see `verifyAttestation`, which needs no client. Sends nothing. */
  verifyAttestation(attestation: object | string, publicKeys: PublicKeys, decision?: object | string): AttestationVerdict {
    return verifyAttestation(attestation, publicKeys, decision);
  }
}
