import { MAX_AGE_HOURS_DEFAULT, MIN_PASS_RATE_DEFAULT, type PromotionCheck } from '@countersign/core/contract/promotion-check';
import { agentClaim } from '@countersign/core/domain/agent-claim';
import { ATTESTATION_PREFERENCE } from '@countersign/core/domain/attestation';
import { unsignedZero } from '@countersign/core/domain/exact-json';
import type { Endpoint } from './endpoint.ts';
import type { PreparedCheck } from './write-decisions.ts';

/**
 * POST /api/public/governance/promotion-check: decides from current evidence; a stored response is never repeated. A decision is attested
 * only on request, because an Ed25519 signature costs more than the transaction of the check (docs/decisions/0012).
 */
export const checkPromotion: Endpoint<PromotionCheck, PreparedCheck> = {
  prepare: (request, check) => {
    const { id, name } = agentClaim(check);
    return {
      bytes: request.document.length + 2000,
      batchKeys: [],
      // Members in the order of canonical JSON, because the question is part of the evidence document.
      question: {
        agent_id: id,
        agent_name: name,
        harness_id: check.harness_id?.toLowerCase() ?? null,
        max_age_hours: check.max_age_hours ?? MAX_AGE_HOURS_DEFAULT,
        min_pass_rate: unsignedZero(check.min_pass_rate ?? MIN_PASS_RATE_DEFAULT),
      },
      keyPrefix: request.principal.prefix,
    };
  },
  submit: async ({ decisions, attest }, { principal, prefersAttestation, nonce }, prepared) => {
    const reply = await decisions.submit(principal.tenantId, nonce === undefined ? prepared : { ...prepared, nonce });
    if (!prefersAttestation) return reply;
    const headers = { 'Countersign-Attestation': attest(reply.json), 'Preference-Applied': ATTESTATION_PREFERENCE };
    return { ...reply, headers: { ...reply.headers, ...headers } };
  },
};
