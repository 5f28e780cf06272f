import type {
  Condition,
  ConditionCheck,
  DecidedEvaluation,
  DecisionEvent,
  PromotionDecision,
  Reason,
} from '../contract/promotion-check.ts';
import { acceptableName, agentNameProblems, describeCodePoint } from './agent-name.ts';
import { shorten } from './shorten.ts';

/** The policy of the rules below, named in every decision. A change of the rules needs a new version. */
export const POLICY = 'recent-passing-evaluation/v1';

/** The facts about the agent that a promotion check depends on, all read at the same time. */
export interface Evidence {
  agent: { id: string; name: string; isHighRisk: boolean } | null;
  /**
   * The agent's latest evaluation, whatever its status, with its age by the database's clock. If the request names a harness, only
   * evaluations by this harness count.
   */
  evaluation: (DecidedEvaluation & { ageHours: number }) | null;
  /** For an unknown agent: names of known agents that are similar to the requested one. */
  similarNames?: readonly string[];
  /** The approver's decision about `evaluation`. null and `pending` mean that there is no decision. */
  approval: 'pending' | 'approved' | 'rejected' | null;
  /** Whether the approval has a time in the future. If so, a clock was wrong, and the approval does not count. */
  isApprovalInFuture?: boolean;
  /** The number of open re-certifications of the agent. */
  openRecertifications: number;
  /**
   * The latest evaluation of every other series of the agent (see evidence-state.ts), latest first; at most OTHERS_MAX plus one.
   * Empty unless `evaluation` is passing.
   */
  others: readonly OtherEvaluation[];
}

/** Another evaluation of the agent. Only the message mentions it. */
export interface OtherEvaluation extends Pick<DecidedEvaluation, 'name' | 'status' | 'pass_rate'> {
  /** Name of its suite. */
  suite: string | null;
  ageHours: number;
}

/** The criteria of the request. */
export interface PromotionCriteria {
  /** For messages: the agent's name, or for an unknown agent the name or ID in the request. */
  agentLabel: string;
  /** Whether `agentLabel` is an ID, because the agent is unknown and the request has no name. */
  isAgentId?: boolean;
  /** The harness in the request, for messages; undefined or null if the request names none. */
  harnessId?: string | null;
  /** In percent. */
  minPassRate: number;
  maxAgeHours: number;
}

/** The outcome of the four conditions. */
export interface Verdict {
  allowed: boolean;
  reason: Reason;
  event: DecisionEvent;
  message: string;
  checks: ConditionCheck[];
}

/** The event of each reason (docs/formats.md, "Evidence"). */
export const EVENT_OF_REASON: Record<Reason, DecisionEvent> = {
  no_recent_evaluation: 'promotion.blocked',
  evaluation_not_passing: 'evaluation.failed',
  pass_rate_below_threshold: 'evaluation.failed',
  approval_required: 'approval.required',
  approval_rejected: 'approval.required',
  recertification_open: 'promotion.blocked',
  all_conditions_met: 'promotion.allowed',
};

/** Evaluates the four conditions in order. An unknown fact fails its condition. */
export function decidePromotion(evidence: Evidence, criteria: PromotionCriteria): Verdict {
  const checks = [
    recentPassingCheck(evidence, criteria),
    passRateCheck(evidence, criteria),
    highRiskApprovalCheck(evidence, criteria),
    recertificationCheck(evidence, criteria),
  ];
  const failed = checks.find((check) => !check.passed);
  const reason = failed?.reason ?? 'all_conditions_met';
  const message = failed?.message ?? allowedMessage(evidence, criteria);
  return { allowed: failed === undefined, reason, event: EVENT_OF_REASON[reason], message, checks };
}

/** The maximum number of other evaluations that a message names. */
export const OTHERS_MAX = 5;

/** The message of an allowed decision. It names the evaluation that was used, and the results of the agent's other suites. */
function allowedMessage({ evaluation, others }: Evidence, { agentLabel }: PromotionCriteria): string {
  const allowed = `${agentLabel} may be promoted: all four conditions are met`;
  if (evaluation === null) return `${allowed}.`;
  const { name, pass_rate: rate, ageHours } = evaluation;
  const basis = `the decision rests on ${quote(name)} (${rate} %, ${agoInWords(ageHours)})`;
  if (others.length === 0) return `${allowed}, and ${basis}.`;
  const otherTexts = others.slice(0, OTHERS_MAX).map(otherInWords).join('; ');
  return `${allowed}, and ${basis}. Other suites of this agent: ${otherTexts}${others.length > OTHERS_MAX ? '; and more' : ''}.`;
}

function otherInWords({ name, suite, status, pass_rate: rate, ageHours }: OtherEvaluation): string {
  const ofSuite = suite === null || suite === name ? '' : ` (suite ${quote(suite)})`;
  return `${quote(name)}${ofSuite} is ${status}${rate === null ? '' : `, ${rate} %`}, ${agoInWords(ageHours)}`;
}

const QUOTED_LENGTH_MAX = 60;

/** A name in a message: quoted, shortened, and without characters of the categories C, Zl and Zp, such as direction overrides. */
function quote(name: string): string {
  return `"${shorten(name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').replaceAll('"', "'"), QUOTED_LENGTH_MAX)}"`;
}

/** An age rounded down to whole minutes, hours or days, such as `3 hours ago`. */
function agoInWords(ageHours: number): string {
  if (!(ageHours >= 0)) return 'in the future';
  if (ageHours < 1) return `${ageInWords(ageHours)} ago`;
  if (ageHours < 48) return `${hours(Math.floor(ageHours))} ago`;
  return `${Math.floor(ageHours / 24)} days ago`;
}

function recentPassingCheck(
  { agent, evaluation, similarNames = [] }: Evidence,
  { agentLabel, isAgentId = false, harnessId, maxAgeHours }: PromotionCriteria,
): ConditionCheck {
  const condition = 'recent_passing_evaluation';
  if (agent === null) {
    const message = isAgentId ? unknownIdMessage(agentLabel) : unknownAgentMessage(agentLabel, similarNames);
    return failedCheck(condition, 'no_recent_evaluation', message);
  }
  if (evaluation === null) {
    const ofHarness = harnessId == null ? '' : ` of the harness ${harnessId}`;
    return failedCheck(
      condition,
      'no_recent_evaluation',
      `${agentLabel} has no evaluation${ofHarness}; run one and record its result.`,
    );
  }
  const ageHours = roundedHours(evaluation.ageHours);
  if (!(ageHours >= 0)) {
    return failedCheck(
      condition,
      'no_recent_evaluation',
      `The latest evaluation of ${agentLabel} has a time in the future, ${evaluation.recorded_at}: a clock was wrong. Check the clock, then record a new evaluation.`,
    );
  }
  const runAt = evaluation.evaluated_at === undefined ? '' : ` (run at ${evaluation.evaluated_at})`;
  if (!(ageHours <= maxAgeHours)) {
    return failedCheck(
      condition,
      'no_recent_evaluation',
      `The latest evaluation of ${agentLabel} is ${ageInWords(ageHours)} old${runAt}, the limit is ${hours(maxAgeHours)}; run a new one.`,
    );
  }
  if (evaluation.status !== 'passing') {
    return failedCheck(
      condition,
      'evaluation_not_passing',
      `The latest evaluation of ${agentLabel} is ${evaluation.status}, not passing.`,
    );
  }
  return passedCheck(
    condition,
    `The latest evaluation is passing and ${ageInWords(ageHours)} old, the limit is ${hours(maxAgeHours)}.`,
  );
}

/** The message for an unknown ID. It does not suggest an evaluation, because an evaluation with only this ID would be rejected. */
const unknownIdMessage = (id: string): string =>
  `No agent with the ID ${id} is known here; check the ID and the workspace of the key, or send agent_name.`;

/** The message for an unknown agent. It suggests similar known agents, and names invisible and look-alike characters. */
function unknownAgentMessage(requested: string, similar: readonly string[]): string {
  const problems = agentNameProblems(requested).map(({ message }) => message);
  if (similar.length === 0 && problems.length === 0)
    return `No agent named ${quote(requested)} is known here; record an evaluation that names it.`;
  const differs =
    problems.length > 0 ? ` (the requested name ${problems.join('; it ')})` : differenceInWords(requested, similar[0]!);
  const accepted = acceptableName(requested) || 'a visible name';
  const remedy = similar.length > 0 ? `did you mean ${similar.map(quote).join(' or ')}?` : `send ${quote(accepted)}.`;
  return `No agent named ${quote(requested)} is known here${differs}; ${remedy}`;
}

/** The first difference of two names that look alike, in words; empty if both characters are ASCII, or one name starts with the other. */
function differenceInWords(requestedName: string, knownName: string): string {
  const [a, b] = [[...requestedName], [...knownName]];
  const index = a.findIndex((character, at) => character !== b[at]);
  const [first, second] = [a[index], b[index]];
  if (first === undefined || second === undefined || (first <= '\x7f' && second <= '\x7f')) return '';
  return ` (position ${index + 1} is ${describeCodePoint(first)} and not ${describeCodePoint(second)})`;
}

function passRateCheck({ evaluation }: Evidence, { agentLabel, minPassRate }: PromotionCriteria): ConditionCheck {
  const condition = 'pass_rate';
  const rate = evaluation?.pass_rate ?? null;
  if (rate === null) {
    return failedCheck(
      condition,
      'pass_rate_below_threshold',
      `No pass rate is reported for ${agentLabel}; ${minPassRate} % is required.`,
    );
  }
  if (!(rate >= minPassRate)) {
    return failedCheck(
      condition,
      'pass_rate_below_threshold',
      `The pass rate of ${agentLabel} is ${rate} %, below the ${minPassRate} % required.`,
    );
  }
  return passedCheck(condition, `The pass rate is ${rate} %, and ${minPassRate} % is required.`);
}

/** The text before and after the requested agent, in the message of the third condition of a decision about an unknown agent. */
const UNKNOWN_RISK = { before: 'The risk level of ', after: ' is not known.' };

/** Returns the name or ID that was requested, from a decision about an unknown agent; null for a known agent. */
export function requestedAgent({ agent_id, checks }: Pick<PromotionDecision, 'agent_id' | 'checks'>): string | null {
  const message = checks.find(({ condition }) => condition === 'high_risk_approval')?.message;
  if (agent_id !== null || !message?.startsWith(UNKNOWN_RISK.before) || !message.endsWith(UNKNOWN_RISK.after)) return null;
  return message.slice(UNKNOWN_RISK.before.length, -UNKNOWN_RISK.after.length);
}

function highRiskApprovalCheck(
  { agent, evaluation, approval, isApprovalInFuture }: Evidence,
  { agentLabel }: PromotionCriteria,
): ConditionCheck {
  const condition = 'high_risk_approval';
  if (agent === null)
    return failedCheck(condition, 'approval_required', `${UNKNOWN_RISK.before}${agentLabel}${UNKNOWN_RISK.after}`);
  if (!agent.isHighRisk) return passedCheck(condition, 'The agent is not high-risk.');
  if (evaluation === null)
    return failedCheck(condition, 'approval_required', `${agentLabel} is high-risk, and there is no evaluation to approve.`);
  if (approval === 'approved' && isApprovalInFuture) {
    return failedCheck(
      condition,
      'approval_required',
      `The approval of evaluation ${evaluation.id} has a time in the future: a clock was wrong. An approver must approve it again.`,
    );
  }
  if (approval === 'approved') return passedCheck(condition, 'An approver approved this evaluation.');
  if (approval === 'rejected') {
    return failedCheck(
      condition,
      'approval_rejected',
      `${agentLabel} is high-risk, and an approver rejected this evaluation; a new one needs its own approval.`,
    );
  }
  return failedCheck(
    condition,
    'approval_required',
    `${agentLabel} is high-risk: an approver must approve evaluation ${evaluation.id}.`,
  );
}

function recertificationCheck({ agent, openRecertifications }: Evidence, { agentLabel }: PromotionCriteria): ConditionCheck {
  const condition = 'recertification';
  if (agent === null)
    return failedCheck(condition, 'recertification_open', `Whether ${agentLabel} must be re-certified is not known.`);
  if (openRecertifications !== 0) {
    return failedCheck(
      condition,
      'recertification_open',
      `A re-certification of ${agentLabel} is open after an incident; close it with a passing evaluation that has a pass rate and was recorded after the incident.`,
    );
  }
  return passedCheck(condition, 'No re-certification is open.');
}

const passedCheck = (condition: Condition, message: string): ConditionCheck => ({
  condition,
  passed: true,
  reason: null,
  message,
});
const failedCheck = (condition: Condition, reason: Reason, message: string): ConditionCheck => ({
  condition,
  passed: false,
  reason,
  message,
});

/**
 * Rounds an age in hours to 4 decimals, away from zero. So a negative age does not become 0, and an age above the limit does not become
 * equal to it. The same number is compared, shown and signed, so a decision is consistent. All JSON printers write 4 decimals the same way.
 * The function first rounds to the nearest: 1.1 * 10,000 is 11000.000000000002 and must not become 11,001.
 */
export function roundedHours(hours: number): number {
  const nearest = Math.round(Math.abs(hours) * 10_000);
  const roundedUp = nearest / 10_000 < Math.abs(hours) ? nearest + 1 : nearest;
  return (Math.sign(hours) * roundedUp) / 10_000;
}

const hours = (count: number): string => `${count} ${count === 1 ? 'hour' : 'hours'}`;

/** An age in words. From one hour on it is exact, so that people can compare it with the limit. A shorter age is in whole minutes. */
function ageInWords(ageHours: number): string {
  if (ageHours >= 1) return hours(ageHours);
  const minutes = Math.floor(ageHours * 60);
  if (minutes === 0) return 'less than a minute';
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}
