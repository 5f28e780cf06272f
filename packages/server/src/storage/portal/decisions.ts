import { type PromotionDecision, REASONS, type Reason } from '@countersign/core/contract/promotion-check';
import { requestedAgent } from '@countersign/core/domain/promotion';
import type { ListedDecision } from '@countersign/core/portal/decision-routes';
import { textArray } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, lookUp } from './fragments.ts';

/** A filter of decisions, and a range of their numbers. A member that is null does not filter. */
export interface DecisionFilter {
  agentId: string | null;
  evaluationId: string | null;
  /** Only decisions with one of these reasons. */
  reasons: readonly Reason[];
  /** The lowest number. */
  first: number;
  /** The number above the highest one. */
  end: number;
}

const LISTED = `d.id, d.seq, ${instantText('d.recorded_at')} AS decided_at, d.recorded_by AS asked_by, ${agentJson('a')} AS agent, d.evaluation_id,
  d.allowed, d.reason, d.event, CASE WHEN d.agent_id IS NULL THEN d.document END AS unknown_document`;

/** A row of a decision. The name of an unknown agent is only in the signed document, so that document is read too. */
type DecisionRow = Omit<ListedDecision, 'asked_for'> & { unknown_document: string | null };

function listedDecision<Row extends DecisionRow>({ unknown_document: document, ...row }: Row) {
  return { ...row, asked_for: document === null ? null : requestedAgentIn(document) };
}

/**
 * Returns the agent that the request named; null if there is none, or if the document was changed and is not a decision. The page of the
 * decision reports the change.
 */
function requestedAgentIn(document: string): string | null {
  try {
    return requestedAgent(JSON.parse(document) as PromotionDecision);
  } catch {
    return null;
  }
}

const AGENT = lookUp('agents', 'a', 'id', 'd.agent_id');
const RANGE = 'd.tenant_id = $1 AND d.seq < $2 AND d.seq >= $3';

const LIST = sql<DecisionRow>(
  'portal_list_decisions',
  `SELECT ${LISTED} FROM (
     SELECT * FROM countersign.decisions AS d
      WHERE ${RANGE} AND ($4::uuid IS NULL OR d.agent_id = $4) AND ($5::uuid IS NULL OR d.evaluation_id = $5)
        AND ($6::text[] IS NULL OR d.reason = ANY ($6))
      ORDER BY d.seq DESC LIMIT $7) AS d ${AGENT} ORDER BY d.seq DESC`,
);

// One index scan for each reason; the first rows of all scans are merged. With `reason = ANY`, PostgreSQL would sort all decisions.
const LIST_BY_REASON = sql<DecisionRow>(
  'portal_list_decisions_by_reason',
  `SELECT ${LISTED} FROM (
     SELECT d.* FROM unnest($4::text[]) AS input (reason)
      CROSS JOIN LATERAL (SELECT * FROM countersign.decisions AS d WHERE ${RANGE} AND d.reason = input.reason ORDER BY d.seq DESC LIMIT $5) AS d
      ORDER BY d.seq DESC LIMIT $5) AS d ${AGENT} ORDER BY d.seq DESC`,
);

/** The decisions that match a filter, latest first, at most `limit`. */
export async function listDecisions(tx: Transaction, filter: DecisionFilter, limit: number): Promise<ListedDecision[]> {
  const { agentId, evaluationId, reasons, first, end } = filter;
  const isAnyReason = reasons.length === REASONS.length;
  const rows =
    agentId !== null || evaluationId !== null || isAnyReason
      ? tx.run(LIST, [tx.tenantId, end, first, agentId, evaluationId, isAnyReason ? null : textArray(reasons), limit])
      : tx.run(LIST_BY_REASON, [tx.tenantId, end, first, textArray(reasons), limit]);
  return (await rows).map(listedDecision);
}

/** The texts of one decision: the signed document and its evidence. */
interface DecisionTexts {
  document: string;
  evidence: string;
}

/** A decision as in the list, with its texts. */
export type FoundDecision = ListedDecision & DecisionTexts;

const FIND = sql<DecisionRow & DecisionTexts>(
  'portal_find_decision',
  `SELECT ${LISTED}, d.document, d.evidence FROM countersign.decisions AS d ${AGENT} WHERE d.tenant_id = $1 AND d.id = $2`,
);

/** One decision with its texts; undefined if there is none. */
export async function findListedDecision(tx: Transaction, id: string): Promise<FoundDecision | undefined> {
  const [row] = await tx.run(FIND, [tx.tenantId, id]);
  return row && listedDecision(row);
}
