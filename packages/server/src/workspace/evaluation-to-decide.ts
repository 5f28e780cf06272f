import type { KnownAgent, KnownEvaluation } from '@countersign/core/domain/evidence-state';
import type { Transaction } from '../database/transaction.ts';
import { EvidenceBrokenError } from '../ledger/evidence-broken.ts';
import { evaluationFault } from '../ledger/evidence-tables.ts';
import { type ApprovalState, lockApproval } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import { readEvaluationFacts } from '../storage/evidence-tables.ts';
import type { EvidenceAct } from './evidence-act.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';

/** An evaluation whose approval a person decides or withdraws. */
export interface EvaluationToDecide {
  agent: KnownAgent;
  /** The evaluation in the evidence log; undefined if promotion checks cannot use it, so that its approval has no effect. */
  logged: KnownEvaluation | undefined;
  /**
   * The state of its approval, from the log, or from the table if promotion checks cannot use the evaluation. Undefined if there is none.
   */
  approval: ApprovalState | undefined;
}

/**
 * Finds an evaluation and locks its approval. If promotion checks can use the evaluation, its agent and its approval are read from the
 * evidence log, so that a changed row cannot redirect a rejection to another agent. Other evaluations of the log are not in memory, so
 * their rows are read.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation belongs to no agent, or to one that is not in the log.
 */
export async function findEvaluationToDecide(
  { tx, evidence }: Pick<EvidenceAct, 'tx' | 'evidence'>,
  evaluationId: string,
): Promise<EvaluationToDecide> {
  const logged = evidence.usableEvaluation(evaluationId);
  const row = await findEvaluatedAgent(tx, evaluationId);
  if (logged === undefined && row === undefined)
    throw new NotFoundError(
      `this workspace has no evaluation ${evaluationId}; the ID of an evaluation is in the response to the request that recorded it`,
    );
  const agentId = logged?.agentId ?? row?.agentId ?? null;
  if (agentId === null) throw new RuleViolationError(`evaluation ${evaluationId} belongs to no agent, so it needs no approval`);
  const agent = evidence.agent(agentId);
  if (agent === undefined)
    throw new RuleViolationError(
      `evaluation ${evaluationId} belongs to an agent that is not in the evidence log: the database was changed outside the server; run \`ledger verify\` for details`,
    );
  const stored = await lockApproval(tx, evaluationId);
  return { agent, logged, approval: logged === undefined ? stored : loggedApproval(logged, stored) };
}

/** The approval in the log. Only the table says whether its time is in the future. */
const loggedApproval = ({ approval }: KnownEvaluation, stored: ApprovalState | undefined): ApprovalState | undefined =>
  approval === null ? undefined : { status: approval.status, inFuture: stored?.inFuture ?? false };

/**
 * Throws EvidenceBrokenError if the row of the evaluation differs from the log, because the approver may have seen the changed row.
 */
export async function requireUnchangedRow(tx: Transaction, evaluation: KnownEvaluation): Promise<void> {
  const [row] = await readEvaluationFacts(tx, [evaluation.id]);
  const fault = evaluationFault(evaluation, row);
  if (fault !== undefined)
    throw new EvidenceBrokenError(
      `evaluations: the row ${evaluation.id} of tenant ${tx.tenantId} differs from the log: ${fault}`,
    );
}
