import { MAX_AGE_HOURS_DEFAULT, MIN_PASS_RATE_DEFAULT } from '@countersign/core/contract/promotion-check';
import { evidenceOf } from '@countersign/core/domain/evidence-document';
import { decidePromotion, type Evidence } from '@countersign/core/domain/promotion';
import type { AgentSummary, EvaluationSummary, Standing } from '@countersign/core/portal/agent-facts';
import type { Transaction } from '../database/transaction.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import type { AgentWithActivity } from '../storage/portal/agents.ts';

/** The default criteria of the promotion check. */
export const DEFAULT_CRITERIA = { minPassRate: MIN_PASS_RATE_DEFAULT, maxAgeHours: MAX_AGE_HOURS_DEFAULT };

/** The result of the promotion check's rules for this evidence. */
export function standingOf(evidence: Evidence, criteria = DEFAULT_CRITERIA): Standing {
  const { allowed, ...verdict } = decidePromotion(evidence, { ...criteria, agentLabel: evidence.agent?.name ?? '' });
  return { promotable: allowed, ...verdict };
}

/** The evidence of agents as a promotion check reads it, in the order of `agentIds`. */
export async function readEvidence(
  tx: Transaction,
  agentIds: readonly string[],
  harnessId: string | null = null,
): Promise<Evidence[]> {
  if (agentIds.length === 0) return [];
  return evidenceStates.read(tx, (state, readAt) =>
    agentIds.map((id) => {
      const { evidence } = state.find({ agent_id: id, agent_name: null, harness_id: harnessId });
      return evidenceOf({ ...evidence, read_at: readAt });
    }),
  );
}

/** The evaluation in the evidence, for lists. */
export function evaluationOf({ evaluation, approval }: Evidence): EvaluationSummary | null {
  if (evaluation === null) return null;
  const { ageHours: _, ...shown } = evaluation;
  return { ...shown, approval };
}

/** An agent in lists. */
export const summaryOf = (agent: AgentWithActivity, evidence: Evidence): AgentSummary => ({
  ...agent,
  latest_evaluation: evaluationOf(evidence),
  open_recertifications: evidence.openRecertifications,
  standing: standingOf(evidence),
});

/** The summaries of agents, in the order of `agents`. The evidence of all these agents is read together. */
export async function readSummaries(tx: Transaction, agents: readonly AgentWithActivity[]): Promise<AgentSummary[]> {
  const evidence = await readEvidence(
    tx,
    agents.map(({ id }) => id),
  );
  return agents.map((agent, index) => summaryOf(agent, evidence[index]!));
}
