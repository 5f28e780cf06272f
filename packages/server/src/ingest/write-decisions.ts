import type { DecisionEvent, PromotionDecision } from '@countersign/core/contract/promotion-check';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { unsignedHeadText } from '@countersign/core/domain/checkpoint';
import { type Signature, signDecision } from '@countersign/core/domain/decision-signature';
import {
  agentLabelOf,
  decideFromEvidence,
  type EvidenceDocument,
  type EvidenceQuestion,
  evidenceDocument,
} from '@countersign/core/domain/evidence-document';
import type { EvidenceState, FoundEvidence } from '@countersign/core/domain/evidence-state';
import { digests } from '../crypto/digests.ts';
import type { Item } from '../database/batch-writer.ts';
import type { Transaction } from '../database/transaction.ts';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import { advance, lockLogsAndRead } from '../ledger/advance.ts';
import { appendEntries, entryOf, type NewEntry } from '../ledger/append.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { requestApprovals } from '../storage/approvals.ts';
import { findSigningKeyId } from '../storage/decision-keys.ts';
import { type DecisionRow, insertDecisions } from '../storage/decisions.ts';
import type { LockedHead } from '../storage/log-heads.ts';
import { newId } from '../storage/new-id.ts';
import { findSimilarNames, skeletonDigests } from '../storage/similar-agents.ts';
import type { IngestReply } from './ingest-request.ts';

/** A promotion check to decide. */
export interface PreparedCheck extends Item {
  question: EvidenceQuestion;
  /** The prefix of the request's key. */
  askedBy: string;
  /** The request's Countersign-Nonce. */
  nonce?: string | undefined;
}

/** Derives a tenant's decision key; see digests.ts. */
export type DecisionKeys = (tenantId: string, keyId: string) => Uint8Array;

/** A signed decision with its evidence. */
interface SignedDecision {
  check: PreparedCheck;
  evidence: EvidenceDocument;
  /** The canonical text of `evidence`. */
  evidenceText: string;
  signed: Omit<PromotionDecision, keyof Signature> & Signature;
  /** The text of `signed`, as stored and returned. */
  json: string;
}

/**
 * Decides the concurrent checks of one tenant from the log `evidence` at one time, and stores every decision. Blocked ones are also
 * written to the audit ledger, in the same transaction.
 */
export async function writeDecisions(
  tx: Transaction,
  checks: readonly PreparedCheck[],
  decisionKeys: DecisionKeys,
  observe: (committed: Pick<PromotionDecision, 'allowed' | 'reason'>) => void,
): Promise<(IngestReply | ApiError)[]> {
  const [{ locked, read }, keyId] = await Promise.all([
    lockLogsAndRead(tx, ['audit', 'decisions'], 'evidence'),
    findSigningKeyId(tx),
  ]);
  const { found, readAt, size } = await evidenceStates.read(tx, (state, at) => lookUp(state, at, checks), read);
  const similar = found.some(({ evidence }) => evidence.agent === null)
    ? await findSimilarAgents(tx, checks, found)
    : NONE_SIMILAR;
  const heads = atOneMoment(locked);
  const signing = { keyId, key: decisionKeys(tx.tenantId, keyId), now: heads.decisions.now, evidenceSize: size };
  const outcomes = checks.map((check, index): SignedDecision | ApiError => {
    const { evidence, mismatch } = found[index]!;
    if (mismatch) return agentMismatch();
    const names = similarNamesOf(check, evidence, similar);
    const document = evidenceDocument(tx.tenantId, check.question, { ...evidence, read_at: readAt }, names);
    return decide(check, document, signing);
  });
  const decided = outcomes.filter((outcome): outcome is SignedDecision => !(outcome instanceof ApiError));
  const headers = await keep(tx, heads, decided);
  for (const { signed } of decided) observe(signed);
  return outcomes.map((outcome) => (outcome instanceof ApiError ? outcome : { json: outcome.json, headers }));
}

/** The evidence of every check, all at the same time. */
const lookUp = (state: EvidenceState, readAt: string, checks: readonly PreparedCheck[]) => ({
  found: checks.map(({ question }) => state.find(question)),
  readAt,
  size: state.size,
});

/** Known agents whose names look like requested unknown ones. Known agents cost nothing. */
async function findSimilarAgents(
  tx: Transaction,
  checks: readonly PreparedCheck[],
  found: readonly FoundEvidence[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Set<string>();
  checks.forEach(({ question: { agent_name: agentName } }, index) => {
    const { evidence, mismatch } = found[index]!;
    if (evidence.agent === null && !mismatch && agentName !== null && names.size < COMPARED_NAMES_MAX) names.add(agentName);
  });
  const similar = await findSimilarNames(tx, [...names].map(skeletonDigests));
  return new Map([...names].map((name, index) => [name, similar[index]!]));
}

const NONE_SIMILAR: ReadonlyMap<string, readonly string[]> = new Map();

const similarNamesOf = (
  { question }: PreparedCheck,
  { agent }: FoundEvidence['evidence'],
  similar: ReadonlyMap<string, readonly string[]>,
) => (agent === null ? (similar.get(question.agent_name ?? '') ?? []) : []);

/** The number of unknown names of one batch that are compared with known ones. */
const COMPARED_NAMES_MAX = 100;

/**
 * Both logs use the later of their two times, so that a decision is never recorded before its approval, which is an entry of the other log.
 * So a withdrawal knows whether the approval was used.
 */
function atOneMoment({ audit, decisions }: Record<'audit' | 'decisions', LockedHead>): Record<'audit' | 'decisions', LockedHead> {
  const now = audit.now > decisions.now ? audit.now : decisions.now;
  return { audit: { ...audit, now }, decisions: { ...decisions, now } };
}

/**
 * Stores the decisions, and the blocked ones in the ledger too, and commits.
 * @returns the header with the heads of both trees, which clients keep as evidence (docs/formats.md, "Checkpoints"), and the workspace.
 */
async function keep(
  tx: Transaction,
  heads: Record<'audit' | 'decisions', LockedHead>,
  decided: readonly SignedDecision[],
): Promise<Record<string, string>> {
  if (decided.length === 0) return {};
  const blocked = decided.filter(({ signed }) => !signed.allowed);
  const audit = appendEntries(tx, heads.audit, blocked.map(ledgerEntry));
  const leafData = decided.map(({ signed }) => Buffer.from(signed.response_sha256, 'hex'));
  const decisions = advance(tx, 'decisions', heads.decisions, leafData, null);
  insertDecisions(
    tx,
    decided.map((each, index) => decisionRow(each, heads.decisions.seq + 1 + index)),
  );
  requestApprovals(tx, decided.flatMap(approvalRequest));
  await tx.commit();
  const witnessed = [
    unsignedHeadText('audit', audit.tree.size, audit.tree.root()),
    unsignedHeadText('decisions', decisions.tree.size, decisions.tree.root()),
  ];
  return { 'Countersign-Checkpoint': witnessed.join(', '), 'Countersign-Workspace': tx.tenantId };
}

/** Decides from an evidence document and signs. The decision names its workspace, the key, its evidence and the request's nonce. */
function decide(
  check: PreparedCheck,
  evidence: EvidenceDocument,
  signing: { keyId: string; key: Uint8Array; now: string; evidenceSize: number },
): SignedDecision {
  const evidenceText = canonicalJson(evidence);
  const decision: Omit<PromotionDecision, keyof Signature> = {
    ...decideFromEvidence(evidence),
    decision_id: newId(),
    key_id: signing.keyId,
    timestamp: signing.now,
    tenant_id: evidence.tenant_id,
    asked_by: `key:${check.askedBy}`,
    evidence_sha256: digests.sha256Hex(evidenceText),
    evidence_size: signing.evidenceSize,
  };
  if (check.nonce !== undefined) decision.nonce = check.nonce;
  const signed = signDecision(decision, signing.key, digests);
  return { check, evidence, evidenceText, signed, json: JSON.stringify(signed) };
}

const decisionRow = ({ check, signed, json, evidenceText }: SignedDecision, seq: number): DecisionRow => ({
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
  evidence: evidenceText,
});

/** A check that fails only for approval_required requests an approval, once per evaluation. */
function approvalRequest({ check, evidence, signed }: SignedDecision) {
  if (signed.reason !== 'approval_required' || evidence.agent === null || evidence.evaluation === null) return [];
  return [{ evaluationId: evidence.evaluation.id, agentId: evidence.agent.id, requestedBy: `key:${check.askedBy}` }];
}

const ledgerEntry = ({ check, evidence, signed }: SignedDecision): NewEntry =>
  entryOf({
    recorded_by: 'system:promotion-gate',
    actor: 'promotion-gate',
    // Only blocked decisions have an entry.
    action: signed.event as Exclude<DecisionEvent, 'promotion.allowed'>,
    subject: agentLabelOf(evidence),
    rationale: signed.message,
    agent_id: signed.agent_id,
    metadata: { decision_id: signed.decision_id, response_sha256: signed.response_sha256, asked_by: check.askedBy },
  });

const agentMismatch = (): ApiError =>
  validationFailed({
    path: '/agent_name',
    code: 'agent_mismatch',
    message: 'agent_id and agent_name are not of one agent; send one of the two',
  });
