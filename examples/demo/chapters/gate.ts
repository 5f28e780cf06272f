import type { Evaluation } from '@countersign/core/contract/evaluation';
import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import type { Narrator } from '../narrator.ts';
import { AGENT } from '../support-bot-runs.ts';

/** Records the outcome of an evaluation of the agent. Returns its ID. */
export async function evaluate(api: Api, outcome: Pick<Evaluation, 'name' | 'status' | 'pass_rate'>): Promise<string> {
  const { body } = await api.store('evaluator', '/api/public/evaluations', { agent_name: AGENT, ...outcome });
  return String(body.id);
}

/** Requests four decisions that depend only on evaluations. Returns the last one, which is allowed. */
export async function requestFourDecisions(narrator: Narrator, api: Api): Promise<PromotionDecision> {
  narrator.startChapter(
    'The gate: may this agent go to production?',
    'The pipeline calls the gate between build and deploy. Without a recent passing evaluation, the agent is not promoted.',
  );
  narrator.say('The agent has no evaluation yet:');
  await api.requestDecision(AGENT, 'no_recent_evaluation');
  narrator.introduce('The nightly evaluation fails:');
  await evaluate(api, { name: 'nightly', status: 'failing', pass_rate: 61 });
  await api.requestDecision(AGENT, 'evaluation_not_passing');
  narrator.introduce('The next evaluation passes by its own criteria, but its pass rate is below the threshold of the gate:');
  await evaluate(api, { name: 'nightly', status: 'passing', pass_rate: 72 });
  await api.requestDecision(AGENT, 'pass_rate_below_threshold');
  narrator.introduce('The team improves the agent and evaluates it again:');
  await evaluate(api, { name: 'nightly', status: 'passing', pass_rate: 94 });
  const decision = await api.requestDecision(AGENT, 'all_conditions_met');
  narrator.explainWhy(
    'people do not have to remember to check the evaluation. A blocked deploy job fails with the reason and what to do next.',
  );
  return decision;
}
