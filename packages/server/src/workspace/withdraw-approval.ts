import type { Pool } from 'pg';
import { findUseOfApproval, withdrawApproved } from '../storage/approvals.ts';
import type { Actor } from './actor.ts';
import type { EvaluationDecision } from './decide-evaluation.ts';
import { findEvaluationToDecide } from './evaluation-to-decide.ts';
import { evidenceAct } from './evidence-act.ts';
import { RuleViolationError } from './rule-violation.ts';
import { requireText } from './wrong-input.ts';

/**
 * Withdraws an unused approval, so that the evaluation is pending again. An approval that a decision has used cannot be withdrawn. In that
 * case the evaluation can be rejected instead. Promotion checks and this action lock the head of the audit ledger, so no check can use the
 * approval meanwhile.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation is not approved, if a decision has used the approval, or if the person saw other facts than
 *   those in the evidence log.
 * @throws EvidenceBrokenError if the evaluation is not in the evidence log.
 */
export async function withdrawApproval(
  pool: Pool,
  tenantId: string,
  { evaluationId, rationale, seen }: Omit<EvaluationDecision, 'status'>,
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async (act) => {
    const { tx, append, record } = act;
    const { agent, approval } = await findEvaluationToDecide(act, evaluationId, seen);
    if (approval?.status !== 'approved')
      throw new RuleViolationError(
        `evaluation ${evaluationId} is ${approval?.status ?? 'not approved'}; only an approval can be withdrawn`,
      );
    const usedBy = await findUseOfApproval(tx, evaluationId);
    if (usedBy !== undefined)
      throw new RuleViolationError(
        `the approval of evaluation ${evaluationId} was used by decision ${usedBy}; reject the evaluation to stop further promotions`,
      );
    await withdrawApproved(tx, evaluationId);
    append({ action: 'approval.withdrawn', agent_id: agent.id, evaluation_id: evaluationId });
    record({
      action: 'approval.withdrawn',
      subject: agent.name,
      rationale,
      agent_id: agent.id,
      metadata: { evaluation_id: evaluationId },
    });
  });
}
