import type { KnownAgent, KnownEvaluation } from '@countersign/core/domain/evidence-state';
import type { Transaction } from '../database/transaction.ts';
import { EvidenceBrokenError } from '../ledger/evidence-broken.ts';
import { agentFault, evaluationFault } from '../ledger/evidence-tables.ts';
import type { RecordedEvaluation } from '../ledger/recorded-evaluation.ts';
import { digestOfSeenFacts } from '../ledger/seen-facts.ts';
import { type ApprovalState, lockApproval } from '../storage/approvals.ts';
import { findEvaluatedAgent } from '../storage/evaluations.ts';
import { readAgentFacts, readEvaluationFacts } from '../storage/evidence-tables.ts';
import type { EvidenceAct } from './evidence-act.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';

/** An evaluation whose approval a person decides or withdraws. */
export interface EvaluationToDecide {
  agent: KnownAgent;
  /** The evaluation in the evidence log. */
  evaluation: RecordedEvaluation;
  /**
   * The state of its approval, from the log. If promotion checks cannot use the evaluation, its approval has no effect, and the state is
   * from the table. Undefined if there is no approval.
   */
  approval: ApprovalState | undefined;
}

/**
 * Finds an evaluation and locks its approval. The evaluation and its agent are read from the evidence log, so that a changed row cannot
 * redirect the action to another agent.
 * @param seen the digest of what the person saw (`digestOfSeenFacts`); undefined if the person saw no page.
 * @throws NotFoundError for an unknown evaluation.
 * @throws RuleViolationError if the evaluation belongs to no agent, or if the person saw other facts than those in the log.
 * @throws EvidenceBrokenError if the evaluation is not in the log.
 */
export async function findEvaluationToDecide(
  { tx, evidence, findUnusableEvaluation }: Pick<EvidenceAct, 'tx' | 'evidence' | 'findUnusableEvaluation'>,
  evaluationId: string,
  seen: string | undefined,
): Promise<EvaluationToDecide> {
  const usableEvaluation = evidence.usableEvaluation(evaluationId);
  const evaluation = usableEvaluation ?? (await findUnusable({ tx, findUnusableEvaluation }, evaluationId));
  // The log has each agent before the agent's evaluations.
  const agent = evidence.agent(evaluation.agentId)!;
  if (seen !== undefined) requireSameFacts(seen, agent, evaluation);
  const storedApproval = await lockApproval(tx, evaluationId);
  return {
    agent,
    evaluation,
    approval: usableEvaluation === undefined ? storedApproval : loggedApproval(usableEvaluation, storedApproval),
  };
}

async function findUnusable(
  { tx, findUnusableEvaluation }: Pick<EvidenceAct, 'tx' | 'findUnusableEvaluation'>,
  evaluationId: string,
): Promise<RecordedEvaluation> {
  const row = await findEvaluatedAgent(tx, evaluationId);
  if (row === undefined)
    throw new NotFoundError(
      `this workspace has no evaluation ${evaluationId}; the ID of an evaluation is in the response to the request that recorded it`,
    );
  if (row.agentId === null)
    throw new RuleViolationError(`evaluation ${evaluationId} belongs to no agent, so it needs no approval`);
  const evaluation = await findUnusableEvaluation(evaluationId);
  if (evaluation === undefined) throw brokenEvidenceError(tx, 'evaluations', evaluationId, 'the log has no such evaluation');
  return evaluation;
}

/** The approval in the log. Only the table says whether its time is in the future. */
const loggedApproval = ({ approval }: KnownEvaluation, storedApproval: ApprovalState | undefined): ApprovalState | undefined =>
  approval === null ? undefined : { status: approval.status, isInFuture: storedApproval?.isInFuture ?? false };

/** Throws RuleViolationError if the person saw other facts about the evaluation and its agent than those in the log. */
function requireSameFacts(seen: string, { name }: KnownAgent, evaluation: RecordedEvaluation): void {
  if (seen === digestOfSeenFacts(name, evaluation)) return;
  const { id, status, passRate } = evaluation;
  const passRateText = passRate === null ? '' : `, pass rate ${passRate} %`;
  throw new RuleViolationError(
    `the page showed other facts about evaluation ${id} than the evidence log has: agent ${JSON.stringify(name)}, status ${status}${passRateText}. ` +
      'Nothing was recorded. Reload the page and compare it with these facts. ' +
      'If you did not expect this, tell the operator that the database may have been changed outside the server',
  );
}

/** @throws RuleViolationError if the person saw an evaluation that is not the agent's latest one, or facts that differ from the log. */
export function requireSeenLatest(seen: string, { name: agent }: KnownAgent, latest: KnownEvaluation): void {
  if (seen === digestOfSeenFacts(agent, latest)) return;
  const { id, name, status, passRate } = latest;
  const passRateText = passRate === null ? 'without a pass rate' : `pass rate ${passRate} %`;
  throw new RuleViolationError(
    `the page did not show the latest evaluation of ${JSON.stringify(agent)} as it is in the evidence log: ${id}, ` +
      `${JSON.stringify(name)}, ${status}, ${passRateText}. Nothing was recorded. Reload the page and compare it with these facts`,
  );
}

/**
 * Throws EvidenceBrokenError if the row of the evaluation or of its agent differs from the log, because the approver may have seen the
 * changed row.
 */
export async function requireUnchangedRows(
  tx: Transaction,
  { agent, evaluation }: Pick<EvaluationToDecide, 'agent' | 'evaluation'>,
): Promise<void> {
  const [[evaluationRow], [agentRow]] = await Promise.all([
    readEvaluationFacts(tx, [evaluation.id]),
    readAgentFacts(tx, [agent.id]),
  ]);
  const faultOfEvaluation = evaluationFault(evaluation, evaluationRow);
  if (faultOfEvaluation !== undefined) throw brokenEvidenceError(tx, 'evaluations', evaluation.id, faultOfEvaluation);
  const faultOfAgent = agentFault(agent, agentRow);
  if (faultOfAgent !== undefined) throw brokenEvidenceError(tx, 'agents', agent.id, faultOfAgent);
}

const brokenEvidenceError = (tx: Transaction, table: string, id: string, fault: string): EvidenceBrokenError =>
  new EvidenceBrokenError(`${table}: the row ${id} of tenant ${tx.tenantId} differs from the log: ${fault}`);
