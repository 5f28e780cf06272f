import type { DetailedEvaluation } from '@countersign/core/contract/detailed-evaluation';
import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import { completenessOf } from '@countersign/core/contract/evaluation-rules';
import type { EvaluationSummary } from '@countersign/core/portal/agent-facts';
import type { EvaluationDetail, ListedEvaluation } from '@countersign/core/portal/evaluation-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { agentJson, evaluationColumns, instantKey, lookUp } from './fragments.ts';
import type { TimeRange } from './id-time.ts';

/** A filter of evaluations. A member that is null does not filter. */
export interface EvaluationFilter extends TimeRange {
  agentId: string | null;
  status: EvaluationStatus | null;
  harnessId: string | null;
}

/** The place of an evaluation in the list: when it was recorded, UTC with microseconds, and its number. */
export interface EvaluationPlace {
  recordedAt: string;
  seq: number;
}

/** A listed evaluation with its place. */
export type EvaluationListRow = ListedEvaluation & { place_at: string; place_seq: number };

const listBy = (name: string, afterPlace: string, range: string, order: (of: string) => string) =>
  sql<EvaluationListRow>(
    name,
    `SELECT ${evaluationColumns('e', 'p')}, ${agentJson('a')} AS agent, e.suite, e.completeness, ${instantKey('e.recorded_at')} AS place_at, e.seq AS place_seq
       FROM (SELECT * FROM countersign.evaluations AS e
              WHERE e.tenant_id = $1 AND ${afterPlace}
                AND ($4::uuid IS NULL OR e.agent_id = $4) AND ($5::text IS NULL OR e.status = $5) AND ($6::uuid IS NULL OR e.harness_id = $6)${range}
              ORDER BY ${order('e')} LIMIT $7) AS e
       ${lookUp('agents', 'a', 'id', 'e.agent_id')}
       ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
      ORDER BY ${order('e')}`,
  );

// This statement does not need the time of the place, $2. Its condition on $2 is always true, so that both statements can use the same
// numbers for their parameters.
const LIST = listBy(
  'portal_list_evaluations',
  `($2::timestamptz IS NULL OR true) AND e.seq < coalesce($3::bigint, '9223372036854775807')`,
  '',
  (of) => `${of}.seq DESC`,
);
const LIST_IN_RANGE = listBy(
  'portal_list_evaluations_in_range',
  `(e.recorded_at, e.seq) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::bigint, 0))`,
  ` AND e.recorded_at >= coalesce($8::timestamptz, '-infinity') AND e.recorded_at < coalesce($9::timestamptz, 'infinity')`,
  (of) => `${of}.recorded_at DESC, ${of}.seq DESC`,
);

/** Evaluations after a place, at most `limit`: highest number first, or with a range of time, latest first. */
export function listEvaluations(
  tx: Transaction,
  { agentId, status, harnessId, from, to }: EvaluationFilter,
  after: EvaluationPlace | null,
  limit: number,
): Promise<EvaluationListRow[]> {
  const values = [tx.tenantId, after?.recordedAt ?? null, after?.seq ?? null, agentId, status, harnessId, limit];
  return from === null && to === null ? tx.run(LIST, values) : tx.run(LIST_IN_RANGE, [...values, from, to]);
}

/** A stored evaluation, with the state of its agent. */
export type StoredEvaluation = Omit<EvaluationDetail, 'notes' | 'details' | 'runs' | 'approval_record'> & {
  /** Its number in the order of records. */
  seq: number;
  evaluated_at: string | null;
  /** `evaluated_at`, UTC with microseconds. */
  evaluated_key: string | null;
  /** When it was recorded, UTC with microseconds. */
  recorded_key: string;
  /**
   * When the agent's previous evaluation was recorded, UTC with microseconds; null if there is none. Evaluations with the same or a later
   * time than this one are skipped. They can have a later time if a clock was wrong.
   */
  previous_key: string | null;
};

/** The facts about an evaluation that are read from its document. */
type DocumentFacts = Pick<StoredEvaluation, 'completeness' | 'severity_threshold'>;

const FIND = sql<Omit<StoredEvaluation, keyof DocumentFacts>>(
  'portal_find_evaluation',
  `SELECT ${evaluationColumns('e', 'p')}, ${agentJson('a')} AS agent, e.suite, ${instantText('e.evaluated_at')} AS evaluated_at, ${instantKey('e.evaluated_at')} AS evaluated_key, a.risk_level AS agent_risk_level, e.document,
          e.seq, ${instantKey('e.recorded_at')} AS recorded_key,
          (SELECT x.id FROM countersign.evaluations AS x WHERE x.tenant_id = $1 AND x.agent_id = e.agent_id
            ORDER BY x.seq DESC LIMIT 1) AS latest_of_agent,
          (SELECT ${instantKey('x.recorded_at')} FROM countersign.evaluations AS x
            WHERE x.tenant_id = $1 AND x.agent_id = e.agent_id AND x.seq < e.seq AND x.recorded_at < e.recorded_at
            ORDER BY x.seq DESC LIMIT 1) AS previous_key
     FROM countersign.evaluations AS e
     ${lookUp('agents', 'a', 'id', 'e.agent_id')}
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    WHERE e.tenant_id = $1 AND e.id = $2`,
);

/**
 * One evaluation; undefined if there is none. The evidence log covers the document, but not the columns of `DocumentFacts`. So these facts
 * are read from the document: a changed column could mislead an approver.
 */
export async function findStoredEvaluation(tx: Transaction, id: string): Promise<StoredEvaluation | undefined> {
  const [row] = await tx.run(FIND, [tx.tenantId, id]);
  return row && { ...row, ...factsIn(JSON.parse(row.document) as DetailedEvaluation) };
}

const factsIn = (sent: DetailedEvaluation): DocumentFacts => ({
  completeness: completenessOf(sent),
  severity_threshold: sent.severity_threshold ?? null,
});

const LATEST = sql<EvaluationSummary>(
  'portal_find_latest_evaluation',
  `SELECT ${evaluationColumns('e', 'p')} FROM countersign.evaluations AS e
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    WHERE e.tenant_id = $1 AND e.agent_id = $2 ORDER BY e.seq DESC LIMIT 1`,
);

/** The evaluation of an agent that was recorded last; undefined if there is none. */
export const findLatestSummary = async (tx: Transaction, agentId: string): Promise<EvaluationSummary | undefined> =>
  (await tx.run(LATEST, [tx.tenantId, agentId]))[0];
