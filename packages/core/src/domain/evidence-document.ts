import type { EvaluationStatus } from '../contract/evaluation.ts';
import type { DecidedEvaluation, NoEvaluation, PromotionDecision } from '../contract/promotion-check.ts';
import { decidePromotion, type Evidence, POLICY, roundedHours } from './promotion.ts';

/**
 * The facts from the evidence log about an agent at the time of one promotion check, without derived values. Members must be declared and
 * written in the order of canonical JSON. Times are UTC with six fraction digits.
 */
export interface EvidenceInput {
  agent: { id: string; name: string; risk_level: string } | null;
  /** An approver's decision about `evaluation`; null if there is none. */
  approval: { decided_at: string; status: 'approved' | 'rejected' } | null;
  /** The agent's latest evaluation, whatever its status. If the request names a harness, only evaluations by this harness count. */
  evaluation: EvidenceEvaluation | null;
  open_recertifications: number;
  /**
   * The latest evaluation of every other series of the agent, latest first; at most OTHERS_MAX plus one. Empty unless `evaluation` is
   * passing.
   */
  other_evaluations: OtherEvidenceEvaluation[];
  /** The database's clock at the time of reading. Ages are relative to it. */
  read_at: string;
}

/** The latest evaluation, as it was recorded. */
export interface EvidenceEvaluation {
  category: string | null;
  evaluated_at: string | null;
  harness_id: string | null;
  id: string;
  name: string;
  pass_rate: number | null;
  recorded_at: string;
  recorded_by: string;
  status: EvaluationStatus;
}

/** The latest evaluation of another series. Only the `message` of the decision mentions it. */
export interface OtherEvidenceEvaluation {
  evaluated_at: string | null;
  name: string;
  pass_rate: number | null;
  recorded_at: string;
  status: EvaluationStatus;
  suite: string | null;
}

/** The parameters of the request. Defaults replace absent ones. */
export interface EvidenceQuestion {
  agent_id: string | null;
  agent_name: string | null;
  harness_id: string | null;
  max_age_hours: number;
  min_pass_rate: number;
}

/** Everything that a verdict is computed from (docs/formats.md, "Evidence"). */
export interface EvidenceDocument extends EvidenceInput {
  asked: EvidenceQuestion;
  policy: string;
  /**
   * For the message: names of registered agents that look like the name in the request. Empty for a known agent. The evidence log does not
   * determine which of them are listed.
   */
  similar_names: readonly string[];
  tenant_id: string;
  version: 1;
}

/** The evidence document of one check. All members are in canonical order, so that JSON.stringify writes JCS. */
export const evidenceDocument = (
  tenantId: string,
  asked: EvidenceQuestion,
  facts: EvidenceInput,
  similarNames: readonly string[],
): EvidenceDocument => ({
  agent: facts.agent,
  approval: facts.approval,
  asked,
  evaluation: facts.evaluation,
  open_recertifications: facts.open_recertifications,
  other_evaluations: facts.other_evaluations,
  policy: POLICY,
  read_at: facts.read_at,
  similar_names: similarNames,
  tenant_id: tenantId,
  version: 1,
});

/** The members of a decision that its evidence determines. */
export type DecidedMembers = Pick<
  PromotionDecision,
  | 'allowed'
  | 'reason'
  | 'message'
  | 'event'
  | 'evaluation_id'
  | 'agent_id'
  | 'policy'
  | 'threshold'
  | 'required_threshold'
  | 'actual_threshold'
  | 'evaluation_age'
  | 'evaluation'
  | 'checks'
  | (typeof REQUEST_MEMBERS)[number]
>;

/** The members of a decision that state its request. Decisions of older versions have none of them. */
export const REQUEST_MEMBERS = ['harness_id', 'max_age_hours'] as const;

/** Whether a decision states the harness and the age limit of its request. If it has only one of REQUEST_MEMBERS, it is not valid. */
export const statesRequest = (decision: object): boolean => REQUEST_MEMBERS.some((name) => Object.hasOwn(decision, name));

/** Computes a decision from an evidence document. The service signs the result. A verifier compares it with the signed decision. */
export function decideFromEvidence(document: EvidenceDocument): DecidedMembers {
  const { asked, agent } = document;
  const evidence = evidenceOf(document);
  const { allowed, reason, message, event, checks } = decidePromotion(evidence, {
    agentLabel: agentLabelOf(document),
    isAgentId: agent === null && asked.agent_name === null,
    harnessId: asked.harness_id,
    minPassRate: asked.min_pass_rate,
    maxAgeHours: asked.max_age_hours,
  });
  const { ageHours, ...evaluation } = evidence.evaluation ?? { ageHours: null };
  return {
    allowed,
    reason,
    message,
    event,
    evaluation_id: evidence.evaluation?.id ?? null,
    agent_id: agent?.id ?? null,
    policy: POLICY,
    threshold: asked.min_pass_rate,
    required_threshold: asked.min_pass_rate,
    actual_threshold: evidence.evaluation?.pass_rate ?? null,
    evaluation_age: ageHours === null ? null : roundedHours(ageHours),
    evaluation: evaluation as DecidedEvaluation | NoEvaluation,
    checks,
    harness_id: asked.harness_id,
    max_age_hours: asked.max_age_hours,
  };
}

/** The agent's name; for an unknown agent, the name or ID in the request. */
export const agentLabelOf = ({ agent, asked }: Pick<EvidenceDocument, 'agent' | 'asked'>): string =>
  agent?.name ?? asked.agent_name ?? asked.agent_id ?? '';

/** Returns the input of decidePromotion: the facts, and the ages of the evaluations. */
export function evidenceOf(facts: EvidenceInput & { similar_names?: readonly string[] }): Evidence {
  const { agent, approval } = facts;
  const nowMicros = microsOf(facts.read_at);
  return {
    agent: agent === null ? null : { id: agent.id, name: agent.name, isHighRisk: agent.risk_level !== 'low' },
    evaluation: agent === null || facts.evaluation === null ? null : decidedEvaluation(facts.evaluation, agent.name, nowMicros),
    approval: approval?.status ?? null,
    isApprovalInFuture: approval !== null && !(microsOf(approval.decided_at) <= nowMicros + CLOCKS_APART_MICROS),
    openRecertifications: facts.open_recertifications,
    others: facts.other_evaluations.map(({ name, suite, status, pass_rate, ...times }) => {
      return { name, suite, status, pass_rate, ageHours: ageHours(times, nowMicros) };
    }),
    ...(facts.similar_names === undefined ? {} : { similarNames: facts.similar_names }),
  };
}

/** The tolerated difference between the clocks of two nodes. If an approval is further in the future, a clock was wrong. */
const CLOCKS_APART_MICROS = 5_000_000;

function decidedEvaluation(evaluation: EvidenceEvaluation, agentName: string, nowMicros: number): Evidence['evaluation'] {
  return {
    id: evaluation.id,
    name: evaluation.name,
    status: evaluation.status,
    pass_rate: evaluation.pass_rate,
    category: evaluation.category,
    harness_id: evaluation.harness_id,
    recorded_at: cutToMilliseconds(evaluation.recorded_at),
    recorded_by: evaluation.recorded_by,
    agent_name: agentName,
    ...(evaluation.evaluated_at === null ? {} : { evaluated_at: cutToMilliseconds(evaluation.evaluated_at) }),
    ageHours: ageHours(evaluation, nowMicros),
  };
}

/**
 * The age of an evaluation in hours. It counts from `evaluated_at` or `recorded_at`, whichever is earlier. If `recorded_at` is in the
 * future, a clock was wrong. Then the age is negative even if `evaluated_at` is in the past, and the evaluation does not count.
 */
function ageHours(times: { recorded_at: string; evaluated_at: string | null }, nowMicros: number): number {
  const recordedMicros = microsOf(times.recorded_at);
  const startMicros =
    times.evaluated_at === null || recordedMicros > nowMicros
      ? recordedMicros
      : Math.min(recordedMicros, microsOf(times.evaluated_at));
  return (nowMicros - startMicros) / 3_600_000_000;
}

/** Microseconds since 1970 of a time with six fraction digits. The number is exact, because it is below 2^53 until the year 2255. */
const microsOf = (instant: string): number => Date.parse(cutToMilliseconds(instant)) * 1000 + Number(instant.slice(23, 26));

/** Cuts `2026-11-20T09:30:00.123456Z` to milliseconds, the form of times in decisions. */
const cutToMilliseconds = (instant: string): string => `${instant.slice(0, 23)}Z`;
