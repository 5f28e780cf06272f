import { type Static, Type } from 'typebox';
import { EVALUATION_STATUSES } from '../contract/evaluation.ts';
import { amount, count, dateTime, flag, label, nullable, oneOf, optional, percentage, uuid } from '../contract/scalars.ts';
import { AgentSummary, APPROVAL_STATUSES, EvaluationSummary, RISK_LEVELS, Standing } from './agent-facts.ts';
import { ledgerText } from './ledger-text.ts';
import { filter, page, pageQuery, percentText, WORKSPACE, wholeNumberText } from './listing.ts';
import type { PortalRoute } from './route.ts';

/** One agent with the data of its page. */
export const AgentDetail = Type.Object({
  ...AgentSummary.properties,
  evaluations: count({ description: 'How many evaluations it has.' }),
  approvals_pending: count({ description: 'How many of its evaluations are waiting for an approval.' }),
  incidents: count({ description: 'How many incidents were opened against it.' }),
  harnesses: Type.Array(uuid({ description: 'A harness.' }), { description: 'The harnesses of its latest 500 evaluations.' }),
});
export type AgentDetail = Static<typeof AgentDetail>;

/** One point of the pass rate over time. */
export const PassRatePoint = Type.Object({
  evaluation_id: uuid({ description: 'The evaluation.' }),
  name: label({ description: 'Its name.' }),
  suite: nullable(label({ description: 'Name of its suite; null if none was sent.' })),
  recorded_at: dateTime({ description: 'When it was recorded.' }),
  status: oneOf(EVALUATION_STATUSES, { description: 'Its status.' }),
  pass_rate: nullable(percentage({ description: 'In percent; null if none was reported.' })),
  harness_id: nullable(uuid({ description: 'Its harness.' })),
  approval: nullable(
    oneOf(APPROVAL_STATUSES, { description: 'The state of its approval; null if none was requested or decided.' }),
  ),
});
export type PassRatePoint = Static<typeof PassRatePoint>;

/** The pass rates of an agent over time. */
export const PassRates = Type.Object({
  points: Type.Array(PassRatePoint, { description: 'The latest points, oldest first.' }),
  threshold: percentage({ description: 'The default threshold of the promotion check, in percent.' }),
  more: flag({ description: 'Whether there are older points.' }),
});
export type PassRates = Static<typeof PassRates>;

/** The result of a promotion preview. It uses the rules and evidence of a real decision, but is not signed and not recorded. */
export const PromotionPreview = Type.Object({
  ...Standing.properties,
  agent_id: uuid({ description: 'The agent.' }),
  policy: label({ description: 'The rule that decides, <rule-name>/<version>.' }),
  required_threshold: percentage({ description: 'The required pass rate, in percent.' }),
  actual_threshold: nullable(percentage({ description: 'The pass rate of the evaluation; null if none was reported.' })),
  max_age_hours: count({ minimum: 1, maximum: 8760, description: 'The maximum age of the evaluation, in hours.' }),
  evaluation: Type.Union([EvaluationSummary, Type.Null()], {
    description:
      "The agent's latest evaluation, or its latest evaluation of the harness in the query; null without one. Its `approval` is " +
      'also null while the approval is pending.',
  }),
  evaluation_age: nullable(
    amount({ description: 'Its age in hours, rounded away from zero to at most 4 decimals; null without an evaluation.' }),
  ),
});
export type PromotionPreview = Static<typeof PromotionPreview>;

const SEEN_NAME = Type.Optional(
  label({
    description:
      'The name of the agent, as the page showed it. If the evidence log has another name, the request is rejected and nothing is ' +
      'recorded.',
  }),
);

/** The new risk level of an agent. */
export const RiskChange = Type.Object(
  {
    risk_level: oneOf(RISK_LEVELS, { description: 'The level from now on.' }),
    rationale: optional(ledgerText({ description: 'The reason; recorded in the ledger.' })),
    seen_name: SEEN_NAME,
  },
  { additionalProperties: false },
);

/** Whether an agent is to be archived. */
export const ArchiveChange = Type.Object(
  {
    archived: flag({ description: 'true archives the agent, false restores it.' }),
    rationale: optional(ledgerText({ description: 'The reason; recorded in the ledger.' })),
    seen_name: SEEN_NAME,
  },
  { additionalProperties: false },
);

export const agentRoutes = {
  'agents.list': {
    method: 'GET',
    path: `${WORKSPACE}/agents`,
    access: 'viewer',
    compressed: true,
    summary: 'The agents, by name, and whether each could be promoted now.',
    query: pageQuery({
      search: filter.label('Part of the name, ignoring case.'),
      risk_level: filter.oneOf(RISK_LEVELS, 'Only this risk level.'),
      archived: filter.oneOf(['excluded', 'included', 'only'], 'Whether archived agents are listed; default excluded.'),
    }),
    response: page(AgentSummary),
  },
  'agents.read': {
    method: 'GET',
    path: `${WORKSPACE}/agents/:agent`,
    access: 'viewer',
    compressed: true,
    summary: 'One agent.',
    response: AgentDetail,
  },
  'agents.pass_rates': {
    method: 'GET',
    path: `${WORKSPACE}/agents/:agent/pass-rates`,
    access: 'viewer',
    compressed: true,
    summary: 'The pass rates of an agent over time.',
    query: Type.Object(
      {
        harness_id: filter.uuid('Only this harness.'),
        points: Type.Optional(
          Type.Unsafe<string>({
            type: 'string',
            pattern: '^([1-9]\\d?|[1-4]\\d\\d|500)$',
            'x-means': 'be a whole number from 1 to 500',
            description: 'The maximum number of points; default 200.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: PassRates,
  },
  'agents.promotion_preview': {
    method: 'GET',
    path: `${WORKSPACE}/agents/:agent/promotion-preview`,
    access: 'viewer',
    compressed: true,
    summary: 'Previews a promotion check. Nothing is recorded or signed.',
    query: Type.Object(
      {
        min_pass_rate: Type.Optional(percentText('The required pass rate, in percent; default 80.')),
        max_age_hours: Type.Optional(wholeNumberText('The maximum age of the evaluation in hours, 1 to 8760; default 72.')),
        harness_id: filter.uuid('Use only evaluations of this harness.'),
      },
      { additionalProperties: false },
    ),
    response: PromotionPreview,
  },
  'agents.set_risk': {
    method: 'PATCH',
    path: `${WORKSPACE}/agents/:agent`,
    access: 'admin',
    compressed: true,
    summary: 'Sets the risk level; a change is recorded in the ledger as agent.high_risk or agent.low_risk.',
    body: RiskChange,
    response: Type.Object({
      risk_level: oneOf(RISK_LEVELS, { description: 'The level now.' }),
      changed: flag({ description: 'false if the agent had this level before.' }),
    }),
  },
  'agents.set_archived': {
    method: 'PATCH',
    path: `${WORKSPACE}/agents/:agent/archived`,
    access: 'admin',
    compressed: true,
    summary:
      'Archives or restores an agent; a change is recorded in the ledger as agent.archived or agent.restored. Lists omit archived agents ' +
      'by default. Promotion checks treat them like other agents.',
    body: ArchiveChange,
    response: Type.Object({
      archived: flag({ description: 'Whether it is archived now.' }),
      changed: flag({ description: 'False if it was in this state before.' }),
    }),
  },
} as const satisfies Record<string, PortalRoute>;
