import { textArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A request for an approval, made by a promotion check that stopped there. */
export interface ApprovalRequest {
  evaluationId: string;
  agentId: string;
  requestedBy: string;
}

const REQUEST = sql(
  'request_approvals',
  `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_by)
   SELECT $1, evaluation_id, agent_id, 'pending', requested_by FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS asked (evaluation_id, agent_id, requested_by)
    ORDER BY evaluation_id ON CONFLICT (tenant_id, evaluation_id) DO NOTHING`,
);

/** Puts requests into the queue, once per evaluation. */
export async function requestApprovals(tx: Transaction, requests: readonly ApprovalRequest[]): Promise<void> {
  if (requests.length === 0) return;
  await tx.run(REQUEST, [
    tx.tenantId,
    uuidArray(requests.map(({ evaluationId }) => evaluationId)),
    uuidArray(requests.map(({ agentId }) => agentId)),
    textArray(requests.map(({ requestedBy }) => requestedBy)),
  ]);
}
