import { MAX_AGE_HOURS_DEFAULT, MIN_PASS_RATE_DEFAULT, type PromotionCheck } from '@countersign/core/contract/promotion-check';
import { agentClaim } from './agent-book.ts';
import type { Endpoint } from './endpoint.ts';

/** POST /api/public/governance/promotion-check: decide anew, on what the service itself holds. Never replayed. */
export const checkPromotion: Endpoint<PromotionCheck> = async ({ decisions }, asked, check) => {
  const { id, name } = agentClaim(check);
  return decisions.submit(asked.principal.tenantId, {
    bytes: asked.document.length + 2000,
    foldKeys: [],
    question: { agentId: id, agentName: name, harnessId: check.harness_id?.toLowerCase() ?? null },
    demand: {
      minPassRate: check.min_pass_rate ?? MIN_PASS_RATE_DEFAULT,
      maxAgeHours: check.max_age_hours ?? MAX_AGE_HOURS_DEFAULT,
    },
    askedBy: asked.principal.prefix,
  });
};
