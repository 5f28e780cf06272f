import type { EvaluationSummary } from '@countersign/core/portal/agent-facts';
import type { ApprovalDetail } from '@countersign/core/portal/approval-routes';
import type { RelatedRuns } from '@countersign/core/portal/evaluation-routes';
import { inReadTransaction, type Transaction } from '../database/transaction.ts';
import {
  findApproval,
  findLastApproved,
  listAllApprovals,
  listApprovalQueue,
  listDecidedApprovals,
} from '../storage/portal/approvals.ts';
import { findStoredEvaluation, type StoredEvaluation } from '../storage/portal/evaluations.ts';
import { canChangeTo, decideEvaluation } from '../workspace/decide-evaluation.ts';
import { withdrawApproval } from '../workspace/withdraw-approval.ts';
import { findApprovalFault } from './altered-acts.ts';
import { type ComparedEvaluation, changesBetween } from './changes.ts';
import { detailsOf, notesOf, readRunsBetweenEvaluations } from './evaluation-handlers.ts';
import { handlers } from './handler.ts';
import { pageOf, readCursor } from './page.ts';
import { idOf, requireFound } from './query.ts';
import { digestOfShownEvaluation } from './shown-evaluation.ts';
import { readEvidence, standingOf } from './standing.ts';

/** The queue of pending evaluations, and the decisions about them. */
export const approvalHandlers = handlers({
  'approvals.list': async ({ workspace, query, parts }) => {
    const { status = 'pending' } = query;
    const after = readCursor(query.cursor, ['wholeNumber', 'uuid']);
    const position = after === null ? null : { seq: Number(after[0]), evaluationId: after[1] };
    const agentId = idOf(query.agent_id);
    return inReadTransaction(parts.readPool, workspace, async (tx) => {
      const { items, next } = await pageOf(
        query,
        (limit) => {
          if (status === 'all') return listAllApprovals(tx, agentId, position, limit);
          if (status === 'pending') return listApprovalQueue(tx, agentId, position, limit);
          return listDecidedApprovals(tx, status, agentId, position, limit);
        },
        ({ place_seq: seq, evaluation }) => [seq, evaluation.id],
      );
      return { items: items.map(({ place_seq: _, ...item }) => item), next };
    });
  },

  'approvals.read': async ({ workspace, params, parts }) =>
    inReadTransaction(parts.readPool, workspace, async (tx) => {
      const evaluation = requireFound(await findStoredEvaluation(tx, params.evaluation));
      return readApprovalDetail(tx, evaluation, requireFound(evaluation.agent ?? undefined));
    }),

  'approvals.approve': async ({ workspace, params, body, actor, parts }) => {
    const decision = { evaluationId: params.evaluation, status: 'approved', ...body } as const;
    await decideEvaluation(parts.pool, workspace, decision, actor);
    return { status: decision.status };
  },

  'approvals.reject': async ({ workspace, params, body, actor, parts }) => {
    const decision = { evaluationId: params.evaluation, status: 'rejected', ...body } as const;
    await decideEvaluation(parts.pool, workspace, decision, actor);
    return { status: decision.status };
  },

  'approvals.withdraw': async ({ workspace, params, body, actor, parts }) => {
    await withdrawApproval(parts.pool, workspace, { evaluationId: params.evaluation, ...body }, actor);
    return { status: 'pending' as const };
  },
});

/** A time counts as being in the future if it is further ahead than this. The clocks of two servers may differ by this much. */
const FUTURE_MS_MIN = 5_000;

async function readApprovalDetail(
  tx: Transaction,
  evaluation: StoredEvaluation,
  agent: { id: string; name: string },
): Promise<ApprovalDetail> {
  const [approval, runs, evidence, last, altered] = await Promise.all([
    findApproval(tx, evaluation.id),
    readRunsBetweenEvaluations(tx, agent.id, evaluation),
    readEvidence(tx, [agent.id]),
    readLastApproved(tx, agent.id, evaluation),
    findApprovalFault(tx, evaluation.id),
  ]);
  const isHighRisk = evaluation.agent_risk_level === 'high';
  const isInFuture = Date.parse(approval?.decided_at ?? '') > Date.now() + FUTURE_MS_MIN;
  const state = approval === undefined ? undefined : { status: approval.status, isInFuture };
  return {
    agent,
    risk_level: evaluation.agent_risk_level ?? 'low',
    evaluation: summaryOf(evaluation),
    details: detailsOf(evaluation),
    notes: notesOf(evaluation),
    approval: approval ?? null,
    altered,
    is_latest: evaluation.latest_of_agent === evaluation.id,
    runs,
    last_approved: last === null ? null : { ...last.shown, evaluation: summaryOf(last.stored) },
    changes:
      last === null ? [] : changesBetween(comparedEvaluation(last.stored, last.shown.runs), comparedEvaluation(evaluation, runs)),
    standing: standingOf(evidence[0]!),
    seen: digestOfShownEvaluation(evaluation, agent),
    may: {
      approve: isHighRisk && canChangeTo(state, 'approved'),
      reject: isHighRisk && canChangeTo(state, 'rejected'),
      withdraw: approval?.status === 'approved' && approval.used_by === null,
    },
  };
}

const comparedEvaluation = (evaluation: StoredEvaluation, { models }: RelatedRuns): ComparedEvaluation => ({
  ...detailsOf(evaluation),
  ...summaryOf(evaluation),
  severity_threshold: evaluation.severity_threshold,
  models,
});

async function readLastApproved(tx: Transaction, agentId: string, evaluation: StoredEvaluation) {
  const id = await findLastApproved(tx, agentId, evaluation.seq);
  if (id === undefined) return null;
  const [stored, approval, altered] = await Promise.all([
    findStoredEvaluation(tx, id),
    findApproval(tx, id),
    findApprovalFault(tx, id),
  ]);
  if (stored === undefined || approval === undefined) return null;
  return { stored, shown: { approval, altered, runs: await readRunsBetweenEvaluations(tx, agentId, stored) } };
}

const summaryOf = (evaluation: StoredEvaluation): EvaluationSummary => {
  const { id, name, status, pass_rate, category, harness_id, recorded_at, recorded_by, approval } = evaluation;
  return { id, name, status, pass_rate, category, harness_id, recorded_at, recorded_by, approval };
};
