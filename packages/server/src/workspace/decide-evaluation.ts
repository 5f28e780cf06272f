import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import { type ApprovalState, decideApproval, lockApproval } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import type { Actor } from './actor.ts';
import { type EvidenceAct, evidenceAct } from './evidence-act.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';
import { requireText } from './wrong-input.ts';

/** A person's decision about one evaluation of a high-risk agent. */
export interface EvaluationDecision {
  evaluationId: string;
  status: 'approved' | 'rejected';
  rationale: string;
}

/**
 * Approves or rejects one evaluation of a high-risk agent. The decision applies only to that evaluation. A rejection is final; an approval
 * can still be rejected.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation belongs to no high-risk agent, or if it was rejected or has this status already.
 */
export async function decideEvaluation(
  pool: Pool,
  tenantId: string,
  { evaluationId, status, rationale }: EvaluationDecision,
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, now, by: decidedBy, evidence, append, record }) => {
    const agent = await requireHighRisk(tx, evidence, evaluationId);
    const stored = await lockApproval(tx, evaluationId);
    const logged = evidence.evaluationOf(agent.id, evaluationId)?.approval;
    const state = logged == null ? stored : { status: logged.status, inFuture: stored?.inFuture ?? false };
    if (!canChangeTo(state, status)) {
      throw new RuleViolationError(
        `evaluation ${evaluationId} is ${state?.status} already; record a new evaluation and decide on that one`,
      );
    }
    await decideApproval(tx, { evaluationId, agentId: agent.id, status, decidedAt: now, decidedBy, rationale });
    append({ action: 'approval.decided', agent_id: agent.id, evaluation_id: evaluationId, status });
    record({
      action: `approval.${status}`,
      subject: agent.name,
      rationale,
      agent_id: agent.id,
      metadata: { evaluation_id: evaluationId },
    });
  });
}

/** Whether an approval can change to a status. An approval with a time in the future does not count, so it can be approved again. */
export const canChangeTo = (state: ApprovalState | undefined, status: EvaluationDecision['status']): boolean =>
  state?.status !== 'rejected' && (state?.status !== status || state.inFuture);

/** The agent that the table `evaluations` names for an evaluation. It must be high-risk according to the log `evidence`. */
async function requireHighRisk(
  tx: Transaction,
  evidence: EvidenceAct['evidence'],
  evaluationId: string,
): Promise<{ id: string; name: string }> {
  const found = await findEvaluatedAgent(tx, evaluationId);
  if (found === undefined) {
    throw new NotFoundError(`this workspace has no evaluation ${evaluationId}; its ID is in the response that recorded it`);
  }
  const { agentId: id } = found;
  const agent = id === null ? undefined : evidence.agent(id);
  if (agent === undefined)
    throw new RuleViolationError(`evaluation ${evaluationId} belongs to no agent, so it needs no approval`);
  if (agent.riskLevel !== 'high') {
    throw new RuleViolationError(
      `agent ${JSON.stringify(agent.name)} is not high-risk, so its evaluations need no approval; to require approvals, set its risk level to high first`,
    );
  }
  return { id: agent.id, name: agent.name };
}
