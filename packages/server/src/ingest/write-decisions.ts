import type { DecisionEvent, PromotionDecision } from '@countersign/core/contract/promotion-check';
import { DecisionText, type SignedText } from '@countersign/core/domain/decision-text';
import { agentLabelOf, type EvidenceQuestion } from '@countersign/core/domain/evidence-document';
import { unsignedHeadText } from '@countersign/core/domain/tree-head-header';
import { digests } from '../crypto/digests.ts';
import type { Item, TakeMore } from '../database/batch-writer.ts';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { advanceHead, lockLogsAndRead } from '../ledger/advance.ts';
import { appendEntries, entryOf, type NewEntry } from '../ledger/append.ts';
import { evidenceStates } from '../ledger/evidence-states.ts';
import { isShared } from '../ledger/head-memory.ts';
import { requestApprovals } from '../storage/approvals.ts';
import { findSigningKeyId } from '../storage/decision-keys.ts';
import { type DecisionRow, insertDecisions } from '../storage/decisions.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { newId } from '../storage/new-id.ts';
import type { IngestReply } from './ingest-request.ts';
import { DistinctQuestions, type Verdict } from './verdicts.ts';

/** A promotion check to decide. */
export interface PreparedCheck extends Item {
  question: EvidenceQuestion;
  /** The prefix of the request's key. */
  keyPrefix: string;
  /** The request's Countersign-Nonce. */
  nonce?: string | undefined;
}

/** Derives a tenant's decision key; see digests.ts. */
export type DecisionKeys = (tenantId: string, keyId: string) => Uint8Array;

/** A signed decision with its evidence. */
interface SignedDecision extends SignedText {
  id: string;
  check: PreparedCheck;
  verdict: Verdict;
}

/**
 * Decides the concurrent checks of one tenant from one state of the evidence log, and stores every decision. Blocked decisions are also
 * written to the audit ledger, in the same transaction. While another server also decides checks, the checks that arrive before the logs
 * are locked join the batch. In that case, the evidence is read after the last check has arrived.
 * @param observe called for each decision after the commit.
 */
export async function writeDecisions(
  tx: Transaction,
  firstChecks: readonly PreparedCheck[],
  takeMore: TakeMore<PreparedCheck>,
  decisionKeys: DecisionKeys,
  observe: (committed: Pick<PromotionDecision, 'allowed' | 'reason'>) => void,
): Promise<(IngestReply | ApiError)[]> {
  const clockBefore = tx.clock.read();
  const mayTakeMore = isShared(tx, 'decisions');
  // The key is read under the locks, because a retirement of a key locks the audit ledger too.
  let signingKeyId: Promise<string> | undefined;
  const { locked, read } = await lockLogsAndRead(tx, ['audit', 'decisions'], 'evidence', () => {
    signingKeyId = ignoreRejection(findSigningKeyId(tx));
  });
  const keyId = await signingKeyId!;
  const moreChecks = mayTakeMore ? takeMore() : [];
  const checks = [...firstChecks, ...moreChecks];
  const distinct = new DistinctQuestions();
  const questionIndexes = checks.map(({ question }) => distinct.indexOf(question));
  // The evidence was read before the other checks arrived. It is read again, because an evaluation may have been recorded in the meantime.
  const knownHead = moreChecks.length === 0 ? read : undefined;
  const evidence = await evidenceStates.read(tx, (state, at) => distinct.lookUp(state, at), knownHead);
  const verdicts = await distinct.decide(tx, evidence);
  const readAt = evidence.readAt.replace(/\d{3}Z$/, 'Z');
  tx.clock.requireAgreement(clockBefore, readAt);
  const heads = withSameTime(locked, readAt);
  const { now } = heads.decisions;
  const signing = { keyId, key: decisionKeys(tx.tenantId, keyId), now, evidenceSize: evidence.size };
  const signFunctions = verdicts.map((verdict) => (verdict instanceof ApiError ? () => verdict : signer(verdict, signing)));
  const outcomes = checks.map((check, index) => signFunctions[questionIndexes[index]!]!(check));
  const signedDecisions = outcomes.filter((outcome): outcome is SignedDecision => !(outcome instanceof ApiError));
  const headers = await storeDecisions(tx, heads, now, signedDecisions);
  for (const { verdict } of signedDecisions) observe(verdict.members);
  return outcomes.map((outcome) => (outcome instanceof ApiError ? outcome : { json: outcome.json, headers }));
}

/**
 * Gives both logs the same time: the latest of their own times and of the time at which the evidence was read. So a decision never has an
 * earlier time than its approval (an entry of the audit ledger) or its evidence (which may grow while the two logs are locked).
 * @param readAt UTC with milliseconds.
 */
function withSameTime(
  { audit, decisions }: Record<'audit' | 'decisions', HeadToMove>,
  readAt: string,
): Record<'audit' | 'decisions', HeadToMove> {
  const now = [audit.now, decisions.now, readAt].sort().at(-1)!;
  return { audit: { ...audit, now }, decisions: { ...decisions, now } };
}

/**
 * Stores the decisions, appends the blocked ones to the audit ledger too, requests approvals, and commits. Without decisions it does
 * nothing, and returns no headers.
 * @param now the time of the decisions.
 * @returns two headers: the heads of both trees, which clients keep (docs/formats.md, "Tree heads in a header"), and the workspace.
 */
async function storeDecisions(
  tx: Transaction,
  heads: Record<'audit' | 'decisions', HeadToMove>,
  now: string,
  signedDecisions: readonly SignedDecision[],
): Promise<Record<string, string>> {
  if (signedDecisions.length === 0) return {};
  const blockedDecisions = signedDecisions.filter(({ verdict }) => !verdict.members.allowed);
  const audit = appendEntries(tx, heads.audit, blockedDecisions.map(ledgerEntry));
  const leafData = signedDecisions.map(({ responseSha256 }) => Buffer.from(responseSha256, 'hex'));
  const decisions = advanceHead(tx, 'decisions', heads.decisions, leafData, null);
  insertDecisions(
    tx,
    signedDecisions.map((each, index) => decisionRow(each, heads.decisions.seq + 1 + index, now)),
  );
  requestApprovals(tx, signedDecisions.flatMap(approvalRequest));
  await tx.commit();
  const headTexts = [
    unsignedHeadText('audit', audit.tree.size, audit.tree.root()),
    unsignedHeadText('decisions', decisions.tree.size, decisions.tree.root()),
  ];
  return { 'Countersign-Checkpoint': headTexts.join(', '), 'Countersign-Workspace': tx.tenantId };
}

/** Returns a function that signs the decision on a check. The decision names its workspace, the key, its evidence and the check's nonce. */
function signer(
  verdict: Verdict,
  { keyId, key, now, evidenceSize }: { keyId: string; key: Uint8Array; now: string; evidenceSize: number },
): (check: PreparedCheck) => SignedDecision {
  const text = new DecisionText({
    ...verdict.members,
    key_id: keyId,
    timestamp: now,
    tenant_id: verdict.evidence.tenant_id,
    evidence_sha256: verdict.evidenceSha256,
    evidence_size: evidenceSize,
  });
  return (check) => {
    const id = newId();
    const checkMembers = { decision_id: id, asked_by: `key:${check.keyPrefix}`, nonce: check.nonce };
    return { id, check, verdict, ...text.sign(checkMembers, key, digests) };
  };
}

const decisionRow = (
  { id, check, verdict: { members, evidenceText }, json, responseSha256 }: SignedDecision,
  seq: number,
  recordedAt: string,
): DecisionRow => ({
  seq,
  id,
  recordedAt,
  recordedBy: `key:${check.keyPrefix}`,
  agentId: members.agent_id,
  evaluationId: members.evaluation_id,
  allowed: members.allowed,
  reason: members.reason,
  event: members.event,
  responseSha256,
  document: json,
  evidence: evidenceText,
});

/** The approval that a decision with the reason approval_required requests. It is stored once per evaluation. */
function approvalRequest({ check, verdict: { evidence, members } }: SignedDecision) {
  if (members.reason !== 'approval_required' || evidence.agent === null || evidence.evaluation === null) return [];
  return [{ evaluationId: evidence.evaluation.id, agentId: evidence.agent.id, requestedBy: `key:${check.keyPrefix}` }];
}

const ledgerEntry = ({ id, check, verdict: { evidence, members }, responseSha256 }: SignedDecision): NewEntry =>
  entryOf({
    recorded_by: 'system:promotion-gate',
    actor: 'promotion-gate',
    // Only blocked decisions have an entry.
    action: members.event as Exclude<DecisionEvent, 'promotion.allowed'>,
    subject: agentLabelOf(evidence),
    rationale: members.message,
    agent_id: members.agent_id,
    metadata: { decision_id: id, response_sha256: responseSha256, asked_by: check.keyPrefix },
  });
