import { sql, type Transaction } from '../database/transaction.ts';
import { isInFuture } from './instant-text.ts';

/** A request for an approval, made by a promotion check that needs it. */
export interface ApprovalRequest {
  evaluationId: string;
  agentId: string;
  requestedBy: string;
}

const REQUEST = sql(
  'request_approvals',
  `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_by, requested_seq)
   VALUES ($1, $2, $3, 'pending', $4, nextval('countersign.record_order'))
   ON CONFLICT (tenant_id, evaluation_id) DO NOTHING`,
);

/** Stores requests for approvals. A request does nothing if the evaluation already has an approval, in any state. */
export function requestApprovals(tx: Transaction, requests: readonly ApprovalRequest[]): void {
  const firstOfEach = new Map(
    requests.map((request) => [request.evaluationId, request]).reverse() as [string, ApprovalRequest][],
  );
  const ordered = [...firstOfEach.values()].sort((left, right) => (left.evaluationId < right.evaluationId ? -1 : 1));
  for (const { evaluationId, agentId, requestedBy } of ordered)
    tx.send(REQUEST, [tx.tenantId, evaluationId, agentId, requestedBy]);
}

export type ApprovalStatus = 'pending' | 'approved' | 'rejected';

/** The state of an approval. */
export interface ApprovalState {
  status: ApprovalStatus;
  /** Whether the time of the decision is in the future (`isInFuture`), because a clock was wrong. Such an approval grants nothing. */
  isInFuture: boolean;
}

const LOCK = sql<ApprovalState>(
  'lock_approval',
  `SELECT status, coalesce(${isInFuture('decided_at')}, false) AS "isInFuture" FROM countersign.approvals WHERE tenant_id = $1 AND evaluation_id = $2 FOR UPDATE`,
);

/** Locks the approval of an evaluation and returns its state; undefined if none was requested or decided. */
export const lockApproval = async (tx: Transaction, evaluationId: string): Promise<ApprovalState | undefined> =>
  (await tx.run(LOCK, [tx.tenantId, evaluationId]))[0];

/** A person's decision on an evaluation. */
export interface ApprovalDecision {
  evaluationId: string;
  agentId: string;
  status: Exclude<ApprovalStatus, 'pending'>;
  decidedAt: string;
  decidedBy: string;
  rationale: string;
}

const DECIDE = sql(
  'decide_approval',
  `INSERT INTO countersign.approvals AS kept
          (tenant_id, evaluation_id, agent_id, status, requested_at, requested_by, decided_at, decided_by, rationale, decided_seq)
   VALUES ($1, $2, $3, $4, $5::timestamptz, $6, $5::timestamptz, $6, $7, nextval('countersign.record_order'))
       ON CONFLICT (tenant_id, evaluation_id) DO UPDATE SET
          status = excluded.status, decided_at = excluded.decided_at, decided_by = excluded.decided_by, rationale = excluded.rationale,
          decided_seq = excluded.decided_seq`,
);

/** Stores a person's decision. If no approval was requested, that person is stored as the requester. */
export async function decideApproval(tx: Transaction, decision: ApprovalDecision): Promise<void> {
  const { evaluationId, agentId, status, decidedAt, decidedBy, rationale } = decision;
  await tx.run(DECIDE, [tx.tenantId, evaluationId, agentId, status, decidedAt, decidedBy, rationale]);
}

/**
 * SQL for the ID of the first decision that used an approval of an evaluation, or NULL. An allowed decision used an approval if its
 * evidence has an approval of a high-risk agent. The evidence is searched as text, because PostgreSQL cannot decode an escaped U+0000. No
 * string in canonical JSON contains an unescaped quotation mark, and only an approval has the status "approved". The verification of the
 * decision log compares the columns that this SQL reads with the signed document.
 */
const firstUse = (evaluationId: string): string =>
  `(SELECT d.id FROM countersign.decisions AS d WHERE d.tenant_id = $1 AND d.evaluation_id = ${evaluationId} AND d.allowed
      AND d.evidence LIKE '%"status":"approved"%' AND d.evidence NOT LIKE '%"risk_level":"low"%' ORDER BY d.seq LIMIT 1)`;

/** SQL for the ID of the first decision that used the approval `p`, or NULL. */
export const USED_BY = `CASE WHEN p.status = 'approved' THEN ${firstUse('p.evaluation_id')} END`;

const FIND_USE = sql<{ id: string | null }>('find_use_of_approval', `SELECT ${firstUse('$2')} AS id`);

/**
 * The ID of the first decision that used an approval of an evaluation; undefined if there is none. Does not read the row of the approval.
 */
export const findUseOfApproval = async (tx: Transaction, evaluationId: string): Promise<string | undefined> =>
  (await tx.run(FIND_USE, [tx.tenantId, evaluationId]))[0]?.id ?? undefined;

const WITHDRAW = sql(
  'withdraw_approval',
  `UPDATE countersign.approvals SET status = 'pending', decided_at = NULL, decided_by = NULL, rationale = NULL, decided_seq = NULL
    WHERE tenant_id = $1 AND evaluation_id = $2 AND status = 'approved'`,
);

/** Makes the approval of an evaluation pending again if the evaluation is approved. The caller has locked the approval. */
export const withdrawApproved = (tx: Transaction, evaluationId: string): Promise<unknown> =>
  tx.run(WITHDRAW, [tx.tenantId, evaluationId]);
