import { ATTESTATION_PREFERENCE } from '@countersign/core/domain/attestation';
import { ENDPOINTS } from '../http/endpoints.ts';
import { ConfigurationError } from '../http/errors.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import { type AttestationVerdict, type PublicKeys, verifyAttestation } from '../verification/verify-attestation.ts';
import { type DecisionTrust, type Verdict, verifyDecision } from '../verification/verify-decision.ts';
import type { PromotionCheck, PromotionDecision } from '../wire/contract.ts';
import { jsonBody } from '../wire/json-body.ts';

/** The options of a promotion check. */
export interface CheckOptions extends CallOptions {
  /**
   * Also requests the attestation of the decision. It is in the header `countersign-attestation` of the receipt. `verifyDecision`
   * checks it with the service's public keys, without a shared secret.
   */
  attestation?: boolean | undefined;
  /**
   * A new random value, 16 to 64 characters of base64url. The signed decision repeats it as `nonce`. Compare the two values, so that an
   * older decision cannot be replayed. All attempts of a call send this value. A function is called for each attempt, so that not even the
   * decision of an earlier attempt can be replayed. Compare the decision with the last value that the function returned.
   */
  nonce?: string | (() => string) | undefined;
}

/** Promotion checks. Scope of the key: `governance`. */
export class Governance {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Checks whether an agent may be promoted. A blocked decision is a result, not an error: test `allowed`. After an error there is no
   * decision, so the promotion must not continue.
   * @throws ConfigurationError if the body is not JSON, or an option or the API key is malformed; ApiError for an error status;
   * ConnectionError, TimeoutError or UnexpectedAnswerError; or the reason of `options.signal`.
   */
  async checkPromotion(
    check: PromotionCheck,
    { attestation = false, nonce, ...options }: CheckOptions = {},
  ): Promise<PromotionDecision> {
    if (typeof nonce === 'string') requireNonce(nonce);
    const headers = () => ({
      ...(attestation ? { prefer: ATTESTATION_PREFERENCE } : {}),
      ...(nonce === undefined ? {} : { 'countersign-nonce': requireNonce(typeof nonce === 'function' ? nonce() : nonce) }),
    });
    return this.#transport.post(ENDPOINTS.promotionCheck, () => jsonBody(check), { ...options, headers });
  }

  /** Verifies a signed decision: see `verifyDecision`, which needs no client. Sends nothing. */
  verifyDecision(decision: object | string, trust: DecisionTrust): Verdict {
    return verifyDecision(decision, trust);
  }

  /** Verifies an attestation: see `verifyAttestation`, which needs no client. Sends nothing. */
  verifyAttestation(attestation: object | string, publicKeys: PublicKeys, decision?: object | string): AttestationVerdict {
    return verifyAttestation(attestation, publicKeys, decision);
  }
}

/** Returns a well-formed nonce, or throws. */
function requireNonce(nonce: string): string {
  if (/^[\w-]{16,64}$/.test(nonce)) return nonce;
  throw new ConfigurationError('nonce must be 16 to 64 characters of base64url');
}
