import type { KnownAgent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { type ApprovalState, decideApproval } from '../storage/approvals.ts';
import type { Actor } from './actor.ts';
import { findEvaluationToDecide, requireUnchangedRow } from './evaluation-to-decide.ts';
import { evidenceAct } from './evidence-act.ts';
import { RuleViolationError } from './rule-violation.ts';
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
 * @throws RuleViolationError if the evaluation does not belong to a high-risk agent, or if it was rejected or has this status already.
 * @throws EvidenceBrokenError if the status is `approved`, promotion checks can use the evaluation, and its row was changed outside the
 *   server.
 */
export async function decideEvaluation(
  pool: Pool,
  tenantId: string,
  { evaluationId, status, rationale }: EvaluationDecision,
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async ({ tx, now, by: decidedBy, evidence, append, record }) => {
    const { agent, logged, approval } = await findEvaluationToDecide({ tx, evidence }, evaluationId);
    requireHighRisk(agent);
    if (!canChangeTo(approval, status)) {
      const already = `evaluation ${evaluationId} is ${approval?.status} already`;
      throw new RuleViolationError(
        approval?.status === status
          ? `${already}, so nothing was changed`
          : `${already}; record a new evaluation and decide on that evaluation`,
      );
    }
    if (status === 'approved' && logged !== undefined) await requireUnchangedRow(tx, logged);
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

/** Throws RuleViolationError unless the agent is high-risk. */
function requireHighRisk({ name, riskLevel }: KnownAgent): void {
  if (riskLevel === 'high') return;
  throw new RuleViolationError(
    `agent ${JSON.stringify(name)} is not high-risk, so its evaluations need no approval; to require approvals, set its risk level to high first`,
  );
}
