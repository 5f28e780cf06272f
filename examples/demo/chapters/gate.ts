import type { Evaluation } from '@countersign/core/contract/evaluation';
import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import type { Narrator } from '../narrator.ts';
import { AGENT } from '../support-bot-runs.ts';

/** Records the outcome of an evaluation run of the agent; returns its id. */
export async function evaluate(api: Api, outcome: Pick<Evaluation, 'name' | 'status' | 'pass_rate'>): Promise<string> {
  const { body } = await api.store('evaluator', '/api/public/evaluations', { agent_name: AGENT, ...outcome });
  return String(body.id);
}

/** The four answers of a gate that looks at evaluations; returns the last decision, which allows. */
export async function fourAnswers(narrator: Narrator, api: Api): Promise<PromotionDecision> {
  narrator.chapter(
    'The gate: may this agent go to production?',
    'The pipeline asks between build and deploy. The rule: no recent passing evaluation, no promotion.',
  );
  narrator.say('Nothing has been evaluated yet:');
  await api.mayBePromoted(AGENT, 'no_recent_evaluation');
  narrator.next('The nightly evaluation fails:');
  await evaluate(api, { name: 'nightly', status: 'failing', pass_rate: 61 });
  await api.mayBePromoted(AGENT, 'evaluation_not_passing');
  narrator.next('The next one passes by its own measure, but the gate has a threshold of its own:');
  await evaluate(api, { name: 'nightly', status: 'passing', pass_rate: 72 });
  await api.mayBePromoted(AGENT, 'pass_rate_below_threshold');
  narrator.next('The agent is improved, and evaluated once more:');
  await evaluate(api, { name: 'nightly', status: 'passing', pass_rate: 94 });
  const decision = await api.mayBePromoted(AGENT, 'all_conditions_met');
  narrator.why('nobody has to remember the rule. A deploy job fails with the reason, in words that a person can act on.');
  return decision;
}
