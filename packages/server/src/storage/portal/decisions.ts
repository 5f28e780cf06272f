import { REASONS, type Reason } from '@countersign/core/contract/promotion-check';
import type { ListedDecision } from '@countersign/core/portal/decision-routes';
import { textArray } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, lookUp } from './fragments.ts';

/** Which decisions of the list, by number: behind `after` (exclusive, downwards), down to `first`. Null lets everything through. */
export interface DecisionFilter {
  agentId: string | null;
  evaluationId: string | null;
  reasons: readonly Reason[];
  /** Lowest number. */
  first: number;
  /** The number above the highest. */
  end: number;
}

const LISTED = `d.id, d.seq, ${instantText('d.recorded_at')} AS decided_at, d.recorded_by AS asked_by, ${agentJson('a')} AS agent, d.evaluation_id,
  d.allowed, d.reason, d.event`;
const AGENT = lookUp('agents', 'a', 'id', 'd.agent_id');
const RANGE = 'd.tenant_id = $1 AND d.seq < $2 AND d.seq >= $3';

const LIST = sql<ListedDecision>(
  'portal_list_decisions',
  `SELECT ${LISTED} FROM (
     SELECT * FROM countersign.decisions AS d
      WHERE ${RANGE} AND ($4::uuid IS NULL OR d.agent_id = $4) AND ($5::uuid IS NULL OR d.evaluation_id = $5)
        AND ($6::text[] IS NULL OR d.reason = ANY ($6))
      ORDER BY d.seq DESC LIMIT $7) AS d ${AGENT} ORDER BY d.seq DESC`,
);

// One walk a reason, each in the order of the index, and the heads of all are merged: `reason = ANY` over one index would sort all of them.
const LIST_BY_REASON = sql<ListedDecision>(
  'portal_list_decisions_by_reason',
  `SELECT ${LISTED} FROM (
     SELECT d.* FROM unnest($4::text[]) AS asked (reason)
      CROSS JOIN LATERAL (SELECT * FROM countersign.decisions AS d WHERE ${RANGE} AND d.reason = asked.reason ORDER BY d.seq DESC LIMIT $5) AS d
      ORDER BY d.seq DESC LIMIT $5) AS d ${AGENT} ORDER BY d.seq DESC`,
);

/** Decisions in a range of numbers, latest first. */
export function listDecisions(tx: Transaction, filter: DecisionFilter, limit: number): Promise<ListedDecision[]> {
  const { agentId, evaluationId, reasons, first, end } = filter;
  const anyReason = reasons.length === REASONS.length;
  if (agentId !== null || evaluationId !== null || anyReason)
    return tx.run(LIST, [tx.tenantId, end, first, agentId, evaluationId, anyReason ? null : textArray(reasons), limit]);
  return tx.run(LIST_BY_REASON, [tx.tenantId, end, first, textArray(reasons), limit]);
}

const FIND = sql<ListedDecision & { document: string }>(
  'portal_find_decision',
  `SELECT ${LISTED}, d.document FROM countersign.decisions AS d ${AGENT} WHERE d.tenant_id = $1 AND d.id = $2`,
);

/** One decision with the text that was signed; undefined when there is none. */
export const findListedDecision = async (
  tx: Transaction,
  id: string,
): Promise<(ListedDecision & { document: string }) | undefined> => (await tx.run(FIND, [tx.tenantId, id]))[0];
