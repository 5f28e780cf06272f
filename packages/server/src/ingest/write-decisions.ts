import type { PromotionDecision } from '@countersign/core/contract/promotion-check';
import { witnessedHead } from '@countersign/core/domain/checkpoint';
import { type Signature, signDecision } from '@countersign/core/domain/decision-signature';
import {
  type Demand,
  decidePromotion,
  type Evidence,
  POLICY,
  roundedHours,
  type Verdict,
} from '@countersign/core/domain/promotion';
import { ApiError, validationFailed } from '../api-error.ts';
import type { Item } from '../database/batch-writer.ts';
import type { Transaction } from '../database/transaction.ts';
import { digests } from '../digests.ts';
import { advance, lockLogs } from '../ledger/advance.ts';
import { appendEntries, entryOf, type NewEntry } from '../ledger/append.ts';
import { newId } from '../new-id.ts';
import { requestApprovals } from '../storage/approvals.ts';
import { type DecisionRow, findSigningKeyId, insertDecisions } from '../storage/decisions.ts';
import { type EvidenceQuestion, type Found, findEvidence } from '../storage/evidence.ts';
import type { LockedHead } from '../storage/log-heads.ts';
import { findSimilarNames, skeletonDigests } from '../storage/similar-agents.ts';
import type { Answered } from './endpoint.ts';

/** A promotion check ready to be decided. */
export interface PreparedCheck extends Item {
  question: EvidenceQuestion;
  demand: Omit<Demand, 'agentLabel' | 'harnessId'>;
  /** The asking key's prefix. */
  askedBy: string;
}

/** Derives a tenant's decision key; see digests.ts. */
export type DecisionKeys = (tenantId: string, keyId: string) => Uint8Array;

/** A decision as signed, with what led to it. */
interface Decided {
  check: PreparedCheck;
  /** The agent's name, or else what was asked for. */
  agentLabel: string;
  evidence: Evidence;
  verdict: Verdict;
  signed: Omit<PromotionDecision, keyof Signature> & Signature;
  /** The text of `signed`, as it is kept and answered. */
  json: string;
}

/**
 * Decides the checks of one tenant that arrived together, on what the database holds at one moment, and keeps every decision;
 * a blocked one goes to the audit ledger in the same transaction.
 */
export async function writeDecisions(
  tx: Transaction,
  checks: readonly PreparedCheck[],
  decisionKeys: DecisionKeys,
  observe: (committed: Verdict) => void,
): Promise<(Answered | ApiError)[]> {
  const [locked, keyId, found] = await Promise.all([
    lockLogs(tx, ['audit', 'decisions']),
    findSigningKeyId(tx),
    findEvidence(
      tx,
      checks.map(({ question }) => question),
    ),
  ]);
  if (found.some(({ evidence }) => evidence.agent === null)) await addSimilarNames(tx, checks, found);
  const heads = atOneMoment(locked);
  const key = decisionKeys(tx.tenantId, keyId);
  const outcomes = checks.map((check, index): Decided | ApiError => {
    const { evidence, mismatch } = found[index]!;
    return mismatch ? agentMismatch() : decide(check, evidence, { keyId, key, now: heads.decisions.now });
  });
  const decided = outcomes.filter((outcome): outcome is Decided => !(outcome instanceof ApiError));
  const headers = await keep(tx, heads, decided);
  for (const { verdict } of decided) observe(verdict);
  return outcomes.map((outcome) => (outcome instanceof ApiError ? outcome : { json: outcome.json, headers }));
}

/** Adds to the evidence about unknown agents the known ones that their names look like. Known agents cost nothing. */
async function addSimilarNames(tx: Transaction, checks: readonly PreparedCheck[], found: readonly Found[]): Promise<void> {
  const names = new Set<string>();
  checks.forEach(({ question: { agentName } }, index) => {
    const { evidence, mismatch } = found[index]!;
    if (evidence.agent === null && !mismatch && agentName !== null && names.size < COMPARED_NAMES_MAX) names.add(agentName);
  });
  const similar = await findSimilarNames(tx, [...names].map(skeletonDigests));
  const byName = new Map([...names].map((name, index) => [name, similar[index]!]));
  checks.forEach(({ question: { agentName } }, index) => {
    const { evidence } = found[index]!;
    if (evidence.agent === null && agentName !== null) evidence.similarNames = byName.get(agentName) ?? [];
  });
}

/** So many unknown names of one batch are compared with known ones. */
const COMPARED_NAMES_MAX = 100;

/**
 * Both logs bear the later of their two moments: a decision is never recorded before the approval that it rests on, which is an entry of
 * the other log. By that a withdrawal knows whether the approval was used.
 */
function atOneMoment({ audit, decisions }: Record<'audit' | 'decisions', LockedHead>): Record<'audit' | 'decisions', LockedHead> {
  const now = audit.now > decisions.now ? audit.now : decisions.now;
  return { audit: { ...audit, now }, decisions: { ...decisions, now } };
}

/**
 * Keeps the decisions, the blocked ones in the ledger too, and commits.
 * @returns the header that makes whoever keeps the answer a witness of both trees (docs/formats.md, "Checkpoints"), and the workspace.
 */
async function keep(
  tx: Transaction,
  heads: Record<'audit' | 'decisions', LockedHead>,
  decided: readonly Decided[],
): Promise<Record<string, string>> {
  if (decided.length === 0) return {};
  const blocked = decided.filter(({ verdict }) => !verdict.allowed);
  const audit = appendEntries(tx, heads.audit, blocked.map(ledgerEntry));
  const leafData = decided.map(({ signed }) => Buffer.from(signed.response_sha256, 'hex'));
  const decisions = advance(tx, 'decisions', heads.decisions, leafData, null);
  await tx.commit(
    Promise.all([
      insertDecisions(
        tx,
        decided.map((each, index) => decisionRow(each, heads.decisions.seq + 1 + index)),
      ),
      decisions.sent,
      requestApprovals(tx, decided.flatMap(approvalRequest)),
      audit.sent,
    ]),
  );
  const witnessed = [
    witnessedHead('audit', audit.tree.size, audit.tree.root()),
    witnessedHead('decisions', decisions.tree.size, decisions.tree.root()),
  ];
  return { 'Countersign-Checkpoint': witnessed.join(', '), 'Countersign-Workspace': tx.tenantId };
}

function decide(check: PreparedCheck, evidence: Evidence, signing: { keyId: string; key: Uint8Array; now: string }): Decided {
  const { demand, question } = check;
  const agentLabel = evidence.agent?.name ?? question.agentName ?? question.agentId ?? '';
  const verdict = decidePromotion(evidence, { ...demand, agentLabel, harnessId: question.harnessId });
  const { ageHours, ...evaluation } = evidence.evaluation ?? { ageHours: null };
  const decision: Omit<PromotionDecision, keyof Signature> = {
    allowed: verdict.allowed,
    reason: verdict.reason,
    message: verdict.message,
    event: verdict.event,
    evaluation_id: evidence.evaluation?.id ?? null,
    agent_id: evidence.agent?.id ?? null,
    policy: POLICY,
    threshold: demand.minPassRate,
    required_threshold: demand.minPassRate,
    actual_threshold: evidence.evaluation?.pass_rate ?? null,
    evaluation_age: ageHours === null ? null : roundedHours(ageHours),
    evaluation: evaluation as PromotionDecision['evaluation'],
    checks: verdict.checks,
    decision_id: newId(),
    key_id: signing.keyId,
    timestamp: signing.now,
  };
  const signed = signDecision(decision, signing.key, digests);
  return { check, agentLabel, evidence, verdict, signed, json: JSON.stringify(signed) };
}

const decisionRow = ({ check, signed, json }: Decided, seq: number): DecisionRow => ({
  seq,
  id: signed.decision_id,
  recordedAt: signed.timestamp,
  recordedBy: `key:${check.askedBy}`,
  agentId: signed.agent_id,
  evaluationId: signed.evaluation_id,
  allowed: signed.allowed,
  reason: signed.reason,
  event: signed.event,
  responseSha256: signed.response_sha256,
  document: json,
});

/** A check that stops at approval_required asks for an approval, once per evaluation. */
function approvalRequest({ check, evidence, verdict }: Decided) {
  if (verdict.reason !== 'approval_required' || evidence.agent === null || evidence.evaluation === null) return [];
  return [{ evaluationId: evidence.evaluation.id, agentId: evidence.agent.id, requestedBy: `key:${check.askedBy}` }];
}

const ledgerEntry = ({ check, agentLabel, evidence, verdict, signed }: Decided): NewEntry =>
  entryOf({
    recorded_by: 'system:promotion-gate',
    actor: 'promotion-gate',
    action: verdict.event,
    subject: agentLabel,
    rationale: verdict.message,
    agent_id: evidence.agent?.id ?? null,
    metadata: { decision_id: signed.decision_id, response_sha256: signed.response_sha256, asked_by: check.askedBy },
  });

const agentMismatch = (): ApiError =>
  validationFailed({
    path: '/agent_name',
    code: 'agent_mismatch',
    message: 'agent_id and agent_name are not of one agent; send one of the two',
  });
