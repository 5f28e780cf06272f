import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { inexactnessOf } from '@countersign/core/domain/exact-json';
import { POLICY } from '@countersign/core/domain/promotion';
import type { DecidedEvaluation, PromotionDecision } from '../index.ts';
import { digests } from '../verification/cryptography.ts';
import { shapeFault } from './decision-shape.ts';

/** What the gate was asked: a decision about anything else is not believed. */
export interface Asked {
  agentName: string | undefined;
  agentId: string | undefined;
  harnessId: string | undefined;
  /** Percent. */
  minPassRate: number;
  maxAgeHours: number;
}

/** When the question was sent and the answer was there, by this machine's clock, in milliseconds since 1970. */
export interface Moment {
  sentAt: number;
  receivedAt: number;
  /** How far the clocks of the two machines may be apart. */
  skewMs: number;
  /** What the question was sent with as Countersign-Nonce. */
  nonce: string;
}

/**
 * Why an answer is not to be believed as the decision that was asked for now; undefined when there is nothing against it. The
 * service's word is held against itself: what it says of the evaluation must bear what it decided. The signature is checked apart.
 */
export function disbelief(decision: unknown, text: string, asked: Asked, moment: Moment): string | undefined {
  const [inexact] = inexactnessOf(text);
  if (inexact !== undefined) return `${inexact.message} (at ${inexact.path})`;
  const fault = shapeFault(decision);
  if (fault !== undefined) return fault;
  const read = decision as PromotionDecision;
  if (read.response_sha256 !== digestOf(read))
    return 'the decision is not what its response_sha256 says: it was altered on its way';
  return aboutSomethingElse(read, asked) ?? notOfNow(read, moment) ?? notThisAnswer(read, moment) ?? contradiction(read, asked);
}

function digestOf(decision: object): string | undefined {
  try {
    return decisionDigest(decision, digests);
  } catch {
    return undefined; // no canonical form, so no digest either
  }
}

function aboutSomethingElse(decision: PromotionDecision, asked: Asked): string | undefined {
  if (decision.policy !== POLICY) return `it was decided by ${decision.policy}; this version of the command knows ${POLICY}`;
  if (decision.required_threshold !== asked.minPassRate || decision.threshold !== asked.minPassRate)
    return `it is about a threshold of ${decision.required_threshold} %, asked was ${asked.minPassRate} %`;
  if (asked.agentId !== undefined && decision.agent_id !== null && decision.agent_id !== asked.agentId)
    return `it is about agent ${decision.agent_id}, asked was ${asked.agentId}`;
  const evaluation = evaluationOf(decision);
  if (evaluation === undefined) return undefined;
  if (asked.agentName !== undefined && evaluation.agent_name !== asked.agentName)
    return `it is about agent ${evaluation.agent_name}, asked was ${asked.agentName}`;
  if (asked.harnessId !== undefined && evaluation.harness_id !== asked.harnessId)
    return `it is about harness ${evaluation.harness_id}, asked was ${asked.harnessId}`;
  return undefined;
}

function notOfNow({ timestamp }: PromotionDecision, { sentAt, receivedAt, skewMs }: Moment): string | undefined {
  const decidedAt = Date.parse(timestamp);
  const seconds = (ms: number) => Math.round(ms / 1000);
  const hint = `; or the clocks of this machine and the service are more than ${seconds(skewMs)} s apart (countersign doctor)`;
  if (decidedAt < sentAt - skewMs)
    return `it was decided ${seconds(sentAt - decidedAt)} s before it was asked for: an old decision${hint}`;
  if (decidedAt > receivedAt + skewMs) return `it was decided ${seconds(decidedAt - receivedAt)} s after it arrived${hint}`;
  return undefined;
}

/** A decision repeats the nonce of its request: without it, one that is seconds old could pass for the answer. */
function notThisAnswer({ nonce }: PromotionDecision, { nonce: sent }: Moment): string | undefined {
  if (nonce === sent) return undefined;
  if (nonce === undefined)
    return 'it does not repeat the nonce of the request (Countersign-Nonce): an older server answered, which must be updated, or something in between removes the header';
  return 'it repeats another nonce than this request was sent with: it is the answer to another request, replayed';
}

/** Clocks of one database, read moments apart. */
const AGE_TOLERANCE_HOURS = 0.02;

function contradiction(decision: PromotionDecision, asked: Asked): string | undefined {
  const failed = decision.checks.find(({ passed }) => !passed);
  if (decision.allowed !== (failed === undefined))
    return `it says allowed: ${decision.allowed}, and its conditions say otherwise`;
  if (decision.reason !== (failed?.reason ?? 'all_conditions_met'))
    return `it says ${decision.reason}, and its conditions say ${failed?.reason}`;
  const evaluation = evaluationOf(decision);
  if (decision.evaluation_id !== (evaluation?.id ?? null) || decision.actual_threshold !== (evaluation?.pass_rate ?? null))
    return 'it says two things of its evaluation';
  if (!decision.allowed) return undefined;
  if (evaluation === undefined || decision.agent_id === null) return 'it allows without an evaluation or an agent';
  return notEnough(decision, evaluation, asked);
}

/** Why an allowed decision's own evidence does not allow it. */
function notEnough(decision: PromotionDecision, evaluation: DecidedEvaluation, asked: Asked): string | undefined {
  const { pass_rate: rate, status } = evaluation;
  if (status !== 'passing') return `it allows on an evaluation that is ${status}`;
  if (rate === null || !(rate >= asked.minPassRate))
    return `it allows at a pass rate of ${rate}, and ${asked.minPassRate} is required`;
  const age = decision.evaluation_age;
  if (age === null || !(age >= 0 && age <= asked.maxAgeHours))
    return `it allows on an evaluation ${age} hours old, and at most ${asked.maxAgeHours} was asked`;
  const since = Math.min(Date.parse(evaluation.recorded_at), Date.parse(evaluation.evaluated_at ?? evaluation.recorded_at));
  const counted = (Date.parse(decision.timestamp) - since) / 3_600_000;
  if (!(Math.abs(counted - age) <= AGE_TOLERANCE_HOURS))
    return `it says an age of ${age} hours, and its times say ${counted.toFixed(4)}`;
  return undefined;
}

/** The evaluation that a decision rests on; undefined without one. */
export const evaluationOf = ({ evaluation }: PromotionDecision): DecidedEvaluation | undefined =>
  evaluation.id === undefined ? undefined : evaluation;

/** Whether an approval is all that is missing, and nobody has said no. */
export const onlyApprovalMissing = ({ reason, checks }: PromotionDecision): boolean =>
  reason === 'approval_required' && checks.every(({ passed, condition }) => passed || condition === 'high_risk_approval');
