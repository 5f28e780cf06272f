import type { ApprovalStatus } from '@countersign/core/portal/agent-facts';
import type { ListedApproval } from '@countersign/core/portal/approval-routes';
import type { Approval } from '@countersign/core/portal/evaluation-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { USED_BY } from '../approvals.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, beginningOf, evaluationJson, lookUp } from './fragments.ts';

const approvalColumns = (
  rationale: string,
) => `p.status, ${instantText('p.requested_at')} AS requested_at, p.requested_by, ${instantText('p.decided_at')} AS decided_at,
  p.decided_by, ${rationale} AS rationale, ${USED_BY} AS used_by`;

/** The place of an approval in a list: its number in the order of requests or decisions, and the ID of its evaluation. */
export interface ApprovalPlace {
  seq: number;
  evaluationId: string;
}

/** A listed approval, and the number of its place. */
export type ApprovalListRow = ListedApproval & { place_seq: number };

const listOf = (name: string, from: string, seq: string, order: string, rationale = beginningOf('p.rationale')) =>
  sql<ApprovalListRow>(
    name,
    `SELECT ${evaluationJson('e', 'p')} AS evaluation, ${agentJson('a')} AS agent, ${approvalColumns(rationale)}, ${seq} AS place_seq
       FROM (${from}) AS p
       ${lookUp('evaluations', 'e', 'id', 'p.evaluation_id')}
       ${lookUp('agents', 'a', 'id', 'p.agent_id')}
      ORDER BY ${order}`,
  );

const QUEUE = listOf(
  'portal_list_approval_queue',
  `SELECT * FROM countersign.approvals AS p
    WHERE p.tenant_id = $1 AND p.status = 'pending' AND ($4::uuid IS NULL OR p.agent_id = $4)
      AND (p.requested_seq, p.evaluation_id) > (coalesce($2::bigint, -1), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
    ORDER BY p.requested_seq, p.evaluation_id LIMIT $5`,
  'p.requested_seq',
  'p.requested_seq, p.evaluation_id',
);

/** Pending approvals after a place, oldest request first, at most `limit`. */
export const listApprovalQueue = (
  tx: Transaction,
  agentId: string | null,
  after: ApprovalPlace | null,
  limit: number,
): Promise<ApprovalListRow[]> => tx.run(QUEUE, [tx.tenantId, after?.seq ?? null, after?.evaluationId ?? null, agentId, limit]);

const DECIDED = listOf(
  'portal_list_decided_approvals',
  `SELECT * FROM countersign.approvals AS p
    WHERE p.tenant_id = $1 AND p.status = $6 AND p.status <> 'pending' AND ($4::uuid IS NULL OR p.agent_id = $4)
      AND (p.decided_seq, p.evaluation_id) < (coalesce($2::bigint, '9223372036854775807'), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
    ORDER BY p.decided_seq DESC, p.evaluation_id DESC LIMIT $5`,
  'p.decided_seq',
  'p.decided_seq DESC, p.evaluation_id DESC',
);

/** Approvals with this status, after a place, last decided first, at most `limit`. */
export const listDecidedApprovals = (
  tx: Transaction,
  status: Exclude<ApprovalStatus, 'pending'>,
  agentId: string | null,
  after: ApprovalPlace | null,
  limit: number,
): Promise<ApprovalListRow[]> =>
  tx.run(DECIDED, [tx.tenantId, after?.seq ?? null, after?.evaluationId ?? null, agentId, limit, status]);

// The IDs of evaluations are in the order of their creation, by the clock of the server. If the given agent has many approvals, PostgreSQL
// follows the primary key. If the agent has few approvals, PostgreSQL reads them from the index approvals_of_agent and sorts them.
const ALL = listOf(
  'portal_list_all_approvals',
  `SELECT * FROM countersign.approvals AS p
    WHERE p.tenant_id = $1 AND ($3::uuid IS NULL OR p.agent_id = $3)
      AND p.evaluation_id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY p.evaluation_id DESC LIMIT $4`,
  'p.requested_seq',
  'p.evaluation_id DESC',
);

/** Approvals of every status, after a place, latest evaluation first, at most `limit`. Uses only the evaluation of the place. */
export const listAllApprovals = (
  tx: Transaction,
  agentId: string | null,
  after: ApprovalPlace | null,
  limit: number,
): Promise<ApprovalListRow[]> => tx.run(ALL, [tx.tenantId, after?.evaluationId ?? null, agentId, limit]);

const ALL_WITH_TEXTS = listOf(
  'list_approvals_with_texts',
  `SELECT * FROM countersign.approvals AS p
    WHERE p.tenant_id = $1
      AND (p.requested_seq, p.evaluation_id) > (coalesce($2::bigint, -1), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
    ORDER BY p.requested_seq, p.evaluation_id LIMIT $4`,
  'p.requested_seq',
  'p.requested_seq, p.evaluation_id',
  'p.rationale',
);

/** Approvals of every status, after a place, in the order of the requests, at most `limit`. With complete texts, for the command line. */
export const listApprovalsWithTexts = (tx: Transaction, after: ApprovalPlace | null, limit: number): Promise<ApprovalListRow[]> =>
  tx.run(ALL_WITH_TEXTS, [tx.tenantId, after?.seq ?? null, after?.evaluationId ?? null, limit]);

const FIND = sql<Approval>(
  'portal_find_approval',
  `SELECT ${approvalColumns('p.rationale')} FROM countersign.approvals AS p WHERE p.tenant_id = $1 AND p.evaluation_id = $2`,
);

/** The approval of an evaluation; undefined if none was requested or decided. */
export const findApproval = async (tx: Transaction, evaluationId: string): Promise<Approval | undefined> =>
  (await tx.run(FIND, [tx.tenantId, evaluationId]))[0];

const LAST_APPROVED = sql<{ evaluation_id: string }>(
  'portal_find_last_approved',
  `SELECT p.evaluation_id FROM countersign.approvals AS p
     JOIN countersign.evaluations AS e ON e.tenant_id = $1 AND e.id = p.evaluation_id
    WHERE p.tenant_id = $1 AND p.agent_id = $2 AND p.status = 'approved' AND e.seq < $3
    ORDER BY p.decided_seq DESC LIMIT 1`,
);

/** The ID of the evaluation that was approved last, among an agent's evaluations with a number below `beforeSeq`; undefined if none was. */
export const findLastApproved = async (tx: Transaction, agentId: string, beforeSeq: number): Promise<string | undefined> =>
  (await tx.run(LAST_APPROVED, [tx.tenantId, agentId, beforeSeq]))[0]?.evaluation_id;

const COUNT_PENDING = sql<{ pending: number }>(
  'portal_count_pending_approvals',
  `SELECT count(*) AS pending FROM (SELECT FROM countersign.approvals WHERE tenant_id = $1 AND status = 'pending' LIMIT 1000) AS waiting`,
);

/** The number of pending approvals, counted up to 1,000. */
export const countPendingApprovals = async (tx: Transaction): Promise<number> =>
  (await tx.run(COUNT_PENDING, [tx.tenantId]))[0]!.pending;
