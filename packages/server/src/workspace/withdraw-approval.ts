import type { Pool } from 'pg';
import { findUseOfApproval, lockApproval, withdrawApproved } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import type { Actor } from './actor.ts';
import { evidenceAct } from './evidence-act.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';
import { requireText } from './wrong-input.ts';

/**
 * Withdraws an unused approval, so that the evaluation is pending again. An approval that a decision has used cannot be withdrawn; the
 * evaluation can then be rejected. Promotion checks and this action lock the head of the audit ledger, so no check can use the approval
 * meanwhile.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation is not approved, or if a decision has used the approval.
 */
export async function withdrawApproval(
  pool: Pool,
  tenantId: string,
  { evaluationId, rationale }: { evaluationId: string; rationale: string },
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, append, record }) => {
    const agent = await findEvaluatedAgent(tx, evaluationId);
    if (agent === undefined) throw new NotFoundError(`this workspace has no evaluation ${evaluationId}`);
    const standing = await lockApproval(tx, evaluationId);
    if (standing?.status !== 'approved')
      throw new RuleViolationError(
        `evaluation ${evaluationId} is ${standing?.status ?? 'not approved'}; only an approval can be withdrawn`,
      );
    const usedBy = await findUseOfApproval(tx, evaluationId);
    if (usedBy !== undefined)
      throw new RuleViolationError(
        `the approval of evaluation ${evaluationId} was used by decision ${usedBy}; reject the evaluation to stop further promotions`,
      );
    await withdrawApproved(tx, evaluationId);
    if (agent.agentId !== null) append({ action: 'approval.withdrawn', agent_id: agent.agentId, evaluation_id: evaluationId });
    record({
      action: 'approval.withdrawn',
      subject: agent.agentName,
      rationale,
      agent_id: agent.agentId,
      metadata: { evaluation_id: evaluationId },
    });
  });
}
