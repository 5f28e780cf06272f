import type { KnownAgent } from '@countersign/core/domain/evidence-state';
import type { Pool } from 'pg';
import { type ApprovalState, decideApproval } from '../storage/approvals.ts';
import type { Actor } from './actor.ts';
import { findEvaluationToDecide, requireUnchangedRows } from './evaluation-to-decide.ts';
import { evidenceAct } from './evidence-act.ts';
import { RuleViolationError } from './rule-violation.ts';
import { requireText } from './wrong-input.ts';

/** A person's decision about one evaluation of a high-risk agent. */
export interface EvaluationDecision {
  evaluationId: string;
  status: 'approved' | 'rejected';
  rationale: string;
  /** The digest of what the person saw (`digestOfSeenFacts`). The command line, which shows nothing, omits it. */
  seen?: string;
}

/**
 * Approves or rejects one evaluation of a high-risk agent. The decision applies only to that evaluation. A rejection is final; an approval
 * can still be rejected.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation does not belong to a high-risk agent, if it was rejected or has this status already, or if
 *   the person saw other facts than those in the evidence log.
 * @throws EvidenceBrokenError if the evaluation is not in the evidence log, or if the status is `approved` and the row of the evaluation or
 *   of its agent was changed outside the server.
 */
export async function decideEvaluation(
  pool: Pool,
  tenantId: string,
  { evaluationId, status, rationale, seen }: EvaluationDecision,
  by: Actor,
): Promise<void> {
  requireText('the rationale', rationale);
  return evidenceAct(pool, tenantId, by, async (act) => {
    const { tx, now, by: decidedBy, append, record } = act;
    const { agent, evaluation, approval } = await findEvaluationToDecide(act, evaluationId, seen);
    requireHighRisk(agent);
    if (!canChangeTo(approval, status)) {
      const already = `evaluation ${evaluationId} is ${approval?.status} already`;
      throw new RuleViolationError(
        approval?.status === status
          ? `${already}, so nothing was changed`
          : `${already}; record a new evaluation and decide on that evaluation`,
      );
    }
    if (status === 'approved') await requireUnchangedRows(tx, { agent, evaluation });
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

/** Whether an approval can change to a status. If the time of an approval is in the future, the evaluation can be approved again. */
export const canChangeTo = (state: ApprovalState | undefined, status: EvaluationDecision['status']): boolean =>
  state?.status !== 'rejected' && (state?.status !== status || state.isInFuture);

/** Throws RuleViolationError unless the agent is high-risk. */
function requireHighRisk({ name, riskLevel }: KnownAgent): void {
  if (riskLevel === 'high') return;
  throw new RuleViolationError(
    `agent ${JSON.stringify(name)} is not high-risk, so its evaluations need no approval; to require approvals, set its risk level to high first`,
  );
}
