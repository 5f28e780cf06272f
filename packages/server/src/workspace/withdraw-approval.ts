import type { Pool } from 'pg';
import { findUseOfApproval, lockApproval, withdrawApproved } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import type { Actor } from './actor.ts';
import { evidenceAct } from './evidence-act.ts';
import { NotThere, Refusal } from './refusal.ts';
import { requireText } from './wrong-input.ts';

/**
 * Takes an approval back before it was used: the evaluation waits again. Once a decision has allowed the agent on it, what was approved
 * has happened, and rejecting is the way to stop what comes next. Checks wait for the ledger's head as this act does, so none slips in between.
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
    if (agent === undefined) throw new NotThere(`this workspace has no evaluation ${evaluationId}`);
    const standing = await lockApproval(tx, evaluationId);
    if (standing?.status !== 'approved')
      throw new Refusal(`evaluation ${evaluationId} is ${standing?.status ?? 'not approved'}; only an approval can be withdrawn`);
    const usedBy = await findUseOfApproval(tx, evaluationId);
    if (usedBy !== undefined)
      throw new Refusal(
        `the approval of evaluation ${evaluationId} was used by decision ${usedBy}; reject the evaluation to stop further promotions`,
      );
    await withdrawApproved(tx, evaluationId);
    if (agent.agentId !== null)
      await append({ action: 'approval.withdrawn', agent_id: agent.agentId, evaluation_id: evaluationId });
    await record({
      action: 'approval.withdrawn',
      subject: agent.agentName,
      rationale,
      agent_id: agent.agentId,
      metadata: { evaluation_id: evaluationId },
    });
  });
}
