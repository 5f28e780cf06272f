import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import type { Narrator } from '../narrator.ts';
import type { Operator } from '../operator.ts';
import { AGENT } from '../support-bot-runs.ts';
import { evaluate } from './gate.ts';

/** What an operator says, on the command line and, with pages, in the portal. */
type Acts = { operator: Operator; workspace: string };

const approve = ({ operator, workspace }: Acts, evaluation: string, rationale: string): Promise<string> =>
  operator.run(['approvals', 'approve', '--workspace', workspace, '--evaluation', evaluation, '--rationale', rationale]);

/** A high-risk agent needs a person's word for each evaluation. */
export async function aPersonSaysYes(narrator: Narrator, api: Api, acts: Acts): Promise<void> {
  const { operator, workspace } = acts;
  narrator.chapter(
    'Where a number is not enough: a person says yes',
    'This agent is about to move money. From now on somebody must approve what the gate rests on.',
  );
  await operator.run(['agents', 'risk', '--workspace', workspace, '--agent', AGENT, 'high']);
  const blocked = await api.mayBePromoted(AGENT, 'approval_required');
  narrator.next('The question has put the evaluation into the queue of those who approve. One of them looks at it:');
  await approve(acts, String(blocked.evaluation_id), 'I read the failed cases; none of them moves money.');
  await api.mayBePromoted(AGENT, 'all_conditions_met');
  narrator.why(
    'before an agent that can do harm is promoted, somebody has said yes to this very evaluation, and why. The ledger keeps it.',
  );
}

/** After an incident the agent must be certified anew, and old proof does not count. Returns the last decision, which allows. */
export async function whenSomethingGoesWrong(narrator: Narrator, api: Api, acts: Acts): Promise<PromotionDecision> {
  const { operator, workspace } = acts;
  narrator.chapter(
    'When something goes wrong: incident and re-certification',
    'The agent promised a customer what it may not promise. Somebody opens an incident and demands re-certification.',
  );
  const about = ['--workspace', workspace, '--agent', AGENT];
  const description = 'Promised a refund above its limit.';
  await operator.run(['incidents', 'open', ...about, '--severity', 'high', '--description', description, '--recertify']);
  await api.mayBePromoted(AGENT, 'recertification_open');
  narrator.next('It cannot be waved through: without a new passing evaluation, closing is refused.');
  const close = ['recertifications', 'close', ...about, '--rationale', 'Evaluated anew with the case of the incident.'];
  await operator.run(close, { code: 9 });
  narrator.next('So the case goes into the evaluation, and the agent is evaluated again. The old approval does not cover that:');
  const evaluation = await evaluate(api, { name: 'nightly with the incident', status: 'passing', pass_rate: 96 });
  await api.mayBePromoted(AGENT, 'approval_required');
  await approve(acts, evaluation, 'The case of the incident passes now.');
  await operator.run(close);
  const decision = await api.mayBePromoted(AGENT, 'all_conditions_met');
  narrator.why('the way back to production leads through new proof and through people, not through waiting.');
  return decision;
}
