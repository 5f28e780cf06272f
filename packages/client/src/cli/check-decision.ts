import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { findInexactParts } from '@countersign/core/domain/exact-json';
import { POLICY } from '@countersign/core/domain/promotion';
import type { DecidedEvaluation, PromotionDecision } from '../index.ts';
import { digests } from '../verification/cryptography.ts';
import { shapeFault } from './decision-shape.ts';

/** The promotion check that the gate requests. A decision about another agent, harness, threshold or maximum age is rejected. */
export interface GateRequest {
  agentName: string | undefined;
  agentId: string | undefined;
  harnessId: string | undefined;
  /** Percent. */
  minPassRate: number;
  maxAgeHours: number;
}

/** The times and the nonce that show that a response belongs to its request. */
export interface RequestTiming {
  /** When the request was sent. Like `receivedAt`, by this machine's clock in milliseconds since 1970. */
  sentAt: number;
  receivedAt: number;
  /** The tolerated difference between the clocks of the two machines, in milliseconds. */
  skewMs: number;
  /** The Countersign-Nonce of the request. */
  nonce: string;
}

/**
 * Why a response is not accepted as the decision on this request; undefined if it is accepted. If the decision allows the promotion, its
 * evaluation must support the verdict. `checkSignature` checks the signature.
 */
export function rejectionReason(
  decision: unknown,
  text: string,
  request: GateRequest,
  timing: RequestTiming,
): string | undefined {
  const [inexact] = findInexactParts(text);
  if (inexact !== undefined) return `${inexact.message} (at ${inexact.path})`;
  const fault = shapeFault(decision);
  if (fault !== undefined) return fault;
  const checked = decision as PromotionDecision;
  if (checked.response_sha256 !== digestOf(checked)) return 'the decision does not match its response_sha256: it was altered';
  return (
    requestMismatch(checked, request) ??
    timeMismatch(checked, timing) ??
    nonceMismatch(checked, timing) ??
    contradiction(checked, request)
  );
}

function digestOf(decision: object): string | undefined {
  try {
    return decisionDigest(decision, digests);
  } catch {
    return undefined; // It has no canonical form, so it has no digest.
  }
}

function requestMismatch(decision: PromotionDecision, request: GateRequest): string | undefined {
  if (decision.policy !== POLICY) return `its policy is ${decision.policy}; this version of the command supports only ${POLICY}`;
  const threshold = [decision.required_threshold, decision.threshold].find((each) => each !== request.minPassRate);
  if (threshold !== undefined) return `it is about a threshold of ${threshold} %, but ${request.minPassRate} % was requested`;
  if (request.agentId !== undefined && decision.agent_id !== null && decision.agent_id !== request.agentId)
    return `it is about agent ${decision.agent_id}, but ${request.agentId} was requested`;
  return harnessOrAgeMismatch(decision, request) ?? evaluationMismatch(decision, request);
}

/** Decisions of older servers do not state the harness and the maximum age of the request, so a proxy may have changed both values. */
function harnessOrAgeMismatch(decision: Partial<PromotionDecision>, request: GateRequest): string | undefined {
  const { harness_id: harnessId, max_age_hours: maxAgeHours } = decision;
  if (harnessId === undefined || maxAgeHours === undefined)
    return 'it does not state the requested harness and maximum age: an older server made it; update the server';
  const harnessText = (id: string | null | undefined) => (id == null ? 'any harness' : `the harness ${id}`);
  if (harnessId !== (request.harnessId ?? null))
    return `it is about ${harnessText(harnessId)}, but ${harnessText(request.harnessId)} was requested`;
  if (maxAgeHours !== request.maxAgeHours)
    return `it was decided with a maximum age of ${maxAgeHours} hours, but ${request.maxAgeHours} was requested`;
  return undefined;
}

function evaluationMismatch(decision: PromotionDecision, request: GateRequest): string | undefined {
  const evaluation = evaluationOf(decision);
  if (evaluation === undefined) return undefined;
  if (evaluation.agent_name === undefined)
    return 'its evaluation names no agent, so an older server made the decision; update the server';
  if (request.agentName !== undefined && evaluation.agent_name !== request.agentName)
    return `it is about agent ${evaluation.agent_name}, but ${request.agentName} was requested`;
  if (request.harnessId !== undefined && evaluation.harness_id !== request.harnessId)
    return `it is about harness ${evaluation.harness_id}, but ${request.harnessId} was requested`;
  return undefined;
}

function timeMismatch({ timestamp }: PromotionDecision, { sentAt, receivedAt, skewMs }: RequestTiming): string | undefined {
  const decidedAt = Date.parse(timestamp);
  const seconds = (ms: number) => Math.round(ms / 1000);
  const hint = `or the clocks of this machine and the service differ by more than ${seconds(skewMs)} s (countersign doctor)`;
  if (decidedAt < sentAt - skewMs)
    return `it was decided ${seconds(sentAt - decidedAt)} s before the request: it is an old decision, ${hint}`;
  if (decidedAt > receivedAt + skewMs)
    return `it was decided ${seconds(decidedAt - receivedAt)} s after it arrived: its time was changed, ${hint}`;
  return undefined;
}

/** A decision repeats the nonce of its request. So even a decision that is only seconds old cannot be replayed. */
function nonceMismatch({ nonce }: PromotionDecision, { nonce: requestNonce }: RequestTiming): string | undefined {
  if (nonce === requestNonce) return undefined;
  if (nonce === undefined)
    return 'it does not repeat the nonce of the request (Countersign-Nonce): update the server, or find the proxy that removes the header';
  return 'it repeats the nonce of another request: the response was replayed';
}

/** The service reads its clock once for the age and again for the timestamp of the decision, so the two times may differ a little. */
const AGE_TOLERANCE_HOURS = 0.02;

function contradiction(decision: PromotionDecision, request: GateRequest): string | undefined {
  const failed = decision.checks.find(({ passed }) => !passed);
  if (decision.allowed !== (failed === undefined))
    return `its member allowed is ${decision.allowed}, but its conditions contradict this value`;
  const reason = failed?.reason ?? 'all_conditions_met';
  if (decision.reason !== reason) return `its reason is ${decision.reason}, but its conditions give ${reason}`;
  const evaluation = evaluationOf(decision);
  if (decision.evaluation_id !== (evaluation?.id ?? null) || decision.actual_threshold !== (evaluation?.pass_rate ?? null))
    return 'its members about the evaluation contradict each other';
  if (!decision.allowed) return undefined;
  if (evaluation === undefined || decision.agent_id === null) return 'it allows the promotion without an evaluation or an agent';
  return insufficientEvidence(decision, evaluation, request);
}

/** Why the evaluation of an allowed decision does not support the verdict; undefined if it does. */
function insufficientEvidence(
  decision: PromotionDecision,
  evaluation: DecidedEvaluation,
  request: GateRequest,
): string | undefined {
  const { pass_rate: rate, status } = evaluation;
  if (status !== 'passing') return `it allows the promotion, but its evaluation is ${status}`;
  if (rate === null || !(rate >= request.minPassRate))
    return `it allows the promotion at a pass rate of ${rate}; ${request.minPassRate} is required`;
  const age = decision.evaluation_age;
  if (age === null || !(age >= 0 && age <= request.maxAgeHours))
    return `it allows the promotion on an evaluation ${age} hours old; at most ${request.maxAgeHours} was requested`;
  const ageStartMs = Math.min(Date.parse(evaluation.recorded_at), Date.parse(evaluation.evaluated_at ?? evaluation.recorded_at));
  const computedAgeHours = (Date.parse(decision.timestamp) - ageStartMs) / 3_600_000;
  if (!(Math.abs(computedAgeHours - age) <= AGE_TOLERANCE_HOURS))
    return `it states an age of ${age} hours, but its times give ${computedAgeHours.toFixed(4)} hours`;
  return undefined;
}

/** The evaluation of a decision; undefined if it has none. */
export const evaluationOf = ({ evaluation }: PromotionDecision): DecidedEvaluation | undefined =>
  evaluation.id === undefined ? undefined : evaluation;

/** Whether only an approval is missing, and no approver has rejected the evaluation. */
export const onlyApprovalMissing = ({ reason, checks }: PromotionDecision): boolean =>
  reason === 'approval_required' && checks.every(({ passed, condition }) => passed || condition === 'high_risk_approval');
