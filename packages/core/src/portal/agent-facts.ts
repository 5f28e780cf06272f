import { type Static, Type } from 'typebox';
import { EVALUATION_STATUSES } from '../contract/evaluation.ts';
import { ConditionCheck, DECISION_EVENTS, REASONS } from '../contract/promotion-check.ts';
import { count, dateTime, flag, label, nullable, oneOf, percentage, text, uuid } from '../contract/scalars.ts';

/** The risk levels of an agent. */
export const RISK_LEVELS = ['low', 'high'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** The states of an approval. */
export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** The ID and name of an agent, wherever it is referenced. */
export const AgentName = Type.Object({
  id: uuid({ description: 'ID of the agent.' }),
  name: label({ description: 'Its name.' }),
});
export type AgentName = Static<typeof AgentName>;

/** The agent of a record; null if the record names none. */
export const agentOrNone = (description: string) => Type.Union([AgentName, Type.Null()], { description });

/** An evaluation in a list. */
export const EvaluationSummary = Type.Object({
  id: uuid({ description: 'ID of the evaluation.' }),
  name: label({ description: 'Its name.' }),
  status: oneOf(EVALUATION_STATUSES, { description: 'Its status.' }),
  pass_rate: nullable(percentage({ description: 'Share of passed cases in percent; null if none was reported.' })),
  category: nullable(label({ description: 'Its category.' })),
  harness_id: nullable(uuid({ description: 'The harness that ran it.' })),
  recorded_at: dateTime({ description: 'When the service recorded it.' }),
  recorded_by: label({ description: 'Who submitted it: key:<prefix>.' }),
  approval: nullable(
    oneOf(APPROVAL_STATUSES, { description: 'The state of its approval; null if none was requested or decided.' }),
  ),
});
export type EvaluationSummary = Static<typeof EvaluationSummary>;

/** The result that a promotion check would have now. Nothing is recorded. */
export const Standing = Type.Object({
  promotable: flag({ description: 'Whether all four conditions hold.' }),
  reason: oneOf(REASONS, { description: 'Why the first failing condition fails, or all_conditions_met.' }),
  event: oneOf(DECISION_EVENTS, { description: 'The event that a decision would record.' }),
  message: text({ description: 'One or two sentences that a person can act on.' }),
  checks: Type.Array(ConditionCheck, { description: 'All four conditions, in the order of the rules.' }),
});
export type Standing = Static<typeof Standing>;

/** An agent in a list. `standing` uses the default threshold and the default maximum age of the promotion check. */
export const AgentSummary = Type.Object({
  id: uuid({ description: 'ID of the agent.' }),
  name: label({ description: 'Its name.' }),
  risk_level: oneOf(RISK_LEVELS, { description: 'A high-risk agent is promoted only on an approved evaluation.' }),
  created_at: dateTime({ description: 'When it was registered.' }),
  archived_at: nullable(dateTime({ description: 'When it was archived; null if it is not.' })),
  last_seen_at: nullable(
    dateTime({ description: 'When its last trace, telemetry event or evaluation was received; null before the first.' }),
  ),
  similar_to: Type.Array(AgentName, {
    description: 'Agents with similar names (docs/api.md), except archived ones: at most 3, oldest first.',
  }),
  latest_evaluation: Type.Union([EvaluationSummary, Type.Null()], {
    description:
      'The latest evaluation, which promotion checks without a harness use; null without one. Its `approval` is also null while ' +
      'the approval is pending.',
  }),
  open_recertifications: count({ description: 'How many re-certifications are open.' }),
  standing: Standing,
});
export type AgentSummary = Static<typeof AgentSummary>;
