import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import type { Api } from '../api.ts';
import type { Narrator } from '../narrator.ts';
import type { Operator } from '../operator.ts';
import { AGENT } from '../support-bot-runs.ts';
import { evaluate } from './gate.ts';

/** The operator and the workspace of a command. The portal offers the same actions as the commands of these chapters. */
type OperatorContext = { operator: Operator; workspace: string };

const approve = ({ operator, workspace }: OperatorContext, evaluation: string, rationale: string): Promise<string> =>
  operator.run(['approvals', 'approve', '--workspace', workspace, '--evaluation', evaluation, '--rationale', rationale]);

/** Shows that a high-risk agent needs an approval of each evaluation. */
export async function approveHighRiskAgent(narrator: Narrator, api: Api, context: OperatorContext): Promise<void> {
  const { operator, workspace } = context;
  narrator.startChapter(
    'A high-risk agent needs the approval of a person',
    'This agent will move money, so it becomes high-risk. From now on a person must approve the evaluation that the gate uses.',
  );
  await operator.run(['agents', 'risk', '--workspace', workspace, '--agent', AGENT, 'high']);
  const blocked = await api.requestDecision(AGENT, 'approval_required');
  narrator.introduce('The promotion check put the evaluation into the queue of the approvers. One of them reviews it:');
  await approve(context, String(blocked.evaluation_id), 'I read the failed cases; none of them moves money.');
  await api.requestDecision(AGENT, 'all_conditions_met');
  narrator.explainWhy(
    'before a high-risk agent is promoted, a person has approved exactly this evaluation. The ledger records who did it, and why.',
  );
}

/** Shows that an agent needs a new evaluation after an incident. Returns the last decision, which is allowed. */
export async function recertifyAfterIncident(narrator: Narrator, api: Api, context: OperatorContext): Promise<PromotionDecision> {
  const { operator, workspace } = context;
  narrator.startChapter(
    'After an incident: re-certification',
    'The agent promised a refund that it was not allowed to promise. An operator opens an incident and requires re-certification.',
  );
  const agentOptions = ['--workspace', workspace, '--agent', AGENT];
  const description = 'Promised a refund above its limit.';
  await operator.run(['incidents', 'open', ...agentOptions, '--severity', 'high', '--description', description, '--recertify']);
  await api.requestDecision(AGENT, 'recertification_open');
  narrator.introduce('The re-certification cannot be closed without a new passing evaluation:');
  const closeCommand = [
    'recertifications',
    'close',
    ...agentOptions,
    '--rationale',
    'Evaluated again with the case of the incident.',
  ];
  await operator.run(closeCommand, { code: 9 });
  narrator.introduce(
    'So the team adds the case to the evaluation and evaluates the agent again. The old approval does not cover the new evaluation:',
  );
  const evaluation = await evaluate(api, { name: 'nightly with the incident', status: 'passing', pass_rate: 96 });
  await api.requestDecision(AGENT, 'approval_required');
  await approve(context, evaluation, 'The case of the incident passes now.');
  await operator.run(closeCommand);
  const decision = await api.requestDecision(AGENT, 'all_conditions_met');
  narrator.explainWhy(
    'a high-risk agent returns to production only with a new passing evaluation and its approval, not after a waiting time.',
  );
  return decision;
}
