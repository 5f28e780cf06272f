import { type Static, Type } from 'typebox';
import { EVALUATION_STATUSES } from './evaluation.ts';
import {
  amount,
  count,
  dateTime,
  flag,
  label,
  nullable,
  oneOf,
  optional,
  percentage,
  text,
  unboundedText,
  uuid,
} from './scalars.ts';

/** The default threshold of the pass rate, in percent. */
export const MIN_PASS_RATE_DEFAULT = 80;
/** The default maximum age of the evaluation, in hours. */
export const MAX_AGE_HOURS_DEFAULT = 72;

/** The form of the header Countersign-Nonce: 16 to 64 characters of base64url. */
export const NONCE_PATTERN = '^[A-Za-z0-9_-]{16,64}$';

/** Body of POST /api/public/governance/promotion-check. */
export const PromotionCheck = Type.Object(
  {
    agent_id: optional(uuid({ description: 'ID of the agent. Send agent_id or agent_name.' })),
    agent_name: optional(label({ description: 'Name of the agent. Send agent_id or agent_name.', examples: ['support-bot'] })),
    harness_id: optional(uuid({ description: 'Use only evaluations of this harness.' })),
    min_pass_rate: optional(
      percentage({ description: 'The required pass rate, in percent.', default: MIN_PASS_RATE_DEFAULT, examples: [90] }),
    ),
    max_age_hours: optional(
      count({
        minimum: 1,
        maximum: 8760,
        description: 'The maximum age of the evaluation, in hours.',
        default: MAX_AGE_HOURS_DEFAULT,
        examples: [24],
      }),
    ),
  },
  {
    $id: 'PromotionCheck',
    additionalProperties: false,
    description: 'May this agent be promoted? Send agent_id or agent_name.',
  },
);
export type PromotionCheck = Static<typeof PromotionCheck>;

/** The four conditions, in the order in which they are checked. */
export const CONDITIONS = ['recent_passing_evaluation', 'pass_rate', 'high_risk_approval', 'recertification'] as const;
export type Condition = (typeof CONDITIONS)[number];

/** The reasons of decisions. A decision has the reason of the first condition that fails, or `all_conditions_met` if none fails. */
export const REASONS = [
  'no_recent_evaluation',
  'evaluation_not_passing',
  'pass_rate_below_threshold',
  'approval_required',
  'approval_rejected',
  'recertification_open',
  'all_conditions_met',
] as const;
export type Reason = (typeof REASONS)[number];

/** The events that a decision can record. Each decision records one. */
export const DECISION_EVENTS = ['promotion.allowed', 'promotion.blocked', 'evaluation.failed', 'approval.required'] as const;
export type DecisionEvent = (typeof DECISION_EVENTS)[number];

/** The result of one condition. */
export const ConditionCheck = Type.Object(
  {
    condition: oneOf(CONDITIONS, { description: 'Which condition.' }),
    passed: flag({ description: 'Whether the condition holds.' }),
    reason: nullable(oneOf(REASONS, { description: 'Why it fails; null if it holds.' })),
    message: text({ description: 'One sentence a person can act on.' }),
  },
  { $id: 'ConditionCheck' },
);
export type ConditionCheck = Static<typeof ConditionCheck>;

/** The evaluation that a decision is based on. */
export const DecidedEvaluation = Type.Object({
  id: uuid({ description: 'ID of the evaluation.' }),
  name: label({ description: 'Its name.' }),
  status: oneOf(EVALUATION_STATUSES, { description: 'Its status.' }),
  pass_rate: nullable(percentage({ description: 'Its pass rate, in percent.' })),
  category: nullable(label({ description: 'Its category.' })),
  harness_id: nullable(uuid({ description: 'Its harness.' })),
  recorded_at: dateTime({ description: 'When the service recorded it.' }),
  recorded_by: label({ description: 'Who submitted it: key:<prefix>.' }),
  evaluated_at: Type.Optional(
    Type.Unsafe<string | undefined>(
      dateTime({
        description:
          'When it ran, according to its sender; absent if unknown. If this time is earlier than recorded_at, the age counts from it.',
      }),
    ),
  ),
  agent_name: label({ description: 'Name of the agent that was evaluated: the signature binds the decision to it.' }),
});
export type DecidedEvaluation = Static<typeof DecidedEvaluation>;

/** The value of `evaluation` in a decision without an evaluation: `{}`. */
export type NoEvaluation = { [Member in keyof DecidedEvaluation]?: undefined };

/** Response of POST /api/public/governance/promotion-check: the signed decision. */
export const PromotionDecision = Type.Object(
  {
    allowed: flag({ description: 'Whether the agent may be promoted. Test this member.' }),
    reason: oneOf(REASONS, { description: 'Why the first failing condition fails, or all_conditions_met.' }),
    message: text({ description: 'One or two sentences that a person can act on.' }),
    event: oneOf(DECISION_EVENTS, { description: 'The event this decision records.' }),
    evaluation_id: nullable(uuid({ description: 'The evaluation used; null without one.' })),
    agent_id: nullable(uuid({ description: 'The agent; null when it is not known.' })),
    policy: label({ description: 'The rule that decided, <rule-name>/<version>.', examples: ['recent-passing-evaluation/v1'] }),
    threshold: percentage({ description: 'The pass rate required (same as required_threshold).' }),
    required_threshold: percentage({ description: 'The pass rate required.' }),
    actual_threshold: nullable(
      percentage({ description: 'The pass rate of the latest evaluation; null when none is reported.' }),
    ),
    evaluation_age: nullable(
      amount({
        description:
          'Age of the evaluation in hours, rounded away from zero to at most 4 decimals. It counts from evaluated_at or the time of ' +
          'recording, whichever is earlier. It is negative if recorded_at is in the future.',
      }),
    ),
    evaluation: Type.Unsafe<DecidedEvaluation | NoEvaluation>({
      type: 'object',
      properties: DecidedEvaluation.properties,
      description: 'The evaluation used, as it was at the time of the decision; {} without one.',
    }),
    checks: Type.Unsafe<ConditionCheck[]>({ type: 'array', items: ConditionCheck, description: 'All four conditions.' }),
    decision_id: uuid({ description: 'ID of the decision, which is stored as it was signed.' }),
    key_id: label({ description: 'ID of the signing key.', examples: ['dk_5f0c2a9be671'] }),
    timestamp: dateTime({ description: 'When the decision was made.' }),
    tenant_id: uuid({ description: 'The workspace of the key that sent the request.' }),
    asked_by: label({ description: 'The key that sent the request: key:<prefix>.', examples: ['key:4f9a02c7d1e6'] }),
    evidence_sha256: unboundedText({
      description:
        'SHA-256, in hex, of the evidence document, from which the decision was computed (docs/formats.md, "Evidence").',
    }),
    evidence_size: count({
      description: 'The evidence was computed from this many events of the evidence log (docs/formats.md, "Evidence event").',
      examples: [412],
    }),
    harness_id: nullable(
      uuid({ description: 'The harness in the request, in lower case; null if the request names none (any harness).' }),
    ),
    max_age_hours: count({
      minimum: 1,
      maximum: 8760,
      description: 'The age limit of the check, in hours: the value in the request, or the default.',
      examples: [24],
    }),
    nonce: Type.Optional(
      Type.Unsafe<string | undefined>(
        label({ description: "The request's Countersign-Nonce; absent without one.", examples: ['q3mZ0cX8s1v7bTqg9Jw2Lw'] }),
      ),
    ),
    response_sha256: unboundedText({ description: 'SHA-256 of the canonical decision, hex (docs/formats.md).' }),
    signature: unboundedText({ description: "HMAC-SHA256 with the tenant's decision key, hex." }),
    signature_alg: oneOf(['HMAC-SHA256'], { description: 'The signature algorithm.' }),
  },
  { $id: 'PromotionDecision', description: 'The signed decision. A blocked decision also has status 200.' },
);
export type PromotionDecision = Static<typeof PromotionDecision>;
