import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import { decideApproval, lockApproval, type StandingApproval } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import type { Actor } from './actor.ts';
import { governanceAct } from './governance-act.ts';
import { NotThere, Refusal } from './refusal.ts';
import { requireText } from './wrong-input.ts';

/** What a person decides about one evaluation of a high-risk agent. */
export interface EvaluationDecision {
  evaluationId: string;
  status: 'approved' | 'rejected';
  rationale: string;
}

/**
 * Approves or rejects one evaluation of a high-risk agent. It holds for that evaluation alone. A rejection is final; an approval
 * can still be taken back by rejecting, which is the safe direction.
 */
export async function decideEvaluation(
  pool: Pool,
  tenantId: string,
  { evaluationId, status, rationale }: EvaluationDecision,
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return governanceAct(pool, tenantId, by, async ({ tx, now, by: decidedBy, record }) => {
    const agent = await requireHighRisk(tx, evaluationId);
    const standing = await lockApproval(tx, evaluationId);
    if (!mayBecome(standing, status)) {
      throw new Refusal(
        `evaluation ${evaluationId} is ${standing?.status} already; record a new evaluation and decide on that one`,
      );
    }
    await decideApproval(tx, { evaluationId, agentId: agent.id, status, decidedAt: now, decidedBy, rationale });
    await record({
      action: `approval.${status}`,
      subject: agent.name,
      rationale,
      agent_id: agent.id,
      metadata: { evaluation_id: evaluationId },
    });
  });
}

/** Whether an approval that stands so can be decided so. One with a time in the future grants nothing and can be given again. */
export const mayBecome = (standing: StandingApproval | undefined, status: EvaluationDecision['status']): boolean =>
  standing?.status !== 'rejected' && (standing?.status !== status || standing.inFuture);

async function requireHighRisk(tx: Transaction, evaluationId: string): Promise<{ id: string; name: string }> {
  const found = await findEvaluatedAgent(tx, evaluationId);
  if (found === undefined) {
    throw new NotThere(`this workspace has no evaluation ${evaluationId}; its id is in the answer that recorded it`);
  }
  const { agentId: id, agentName: name, highRisk } = found;
  if (id === null || name === null) throw new Refusal(`evaluation ${evaluationId} is of no agent, so it needs no approval`);
  if (highRisk !== true) {
    throw new Refusal(
      `agent ${JSON.stringify(name)} is not high-risk, so its evaluations need no approval; set its risk level to high first if they shall`,
    );
  }
  return { id, name };
}
