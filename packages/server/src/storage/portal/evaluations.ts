import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import type { EvaluationSummary } from '@countersign/core/portal/agent-facts';
import type { EvaluationDetail, ListedEvaluation } from '@countersign/core/portal/evaluation-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { agentJson, evaluationColumns, instantKey, lookUp } from './fragments.ts';
import type { TimeRange } from './id-time.ts';

/** Which evaluations of the list. Null lets everything through. */
export interface EvaluationFilter extends TimeRange {
  agentId: string | null;
  status: EvaluationStatus | null;
  harnessId: string | null;
}

/** Where a page ends: the last evaluation's moment to the microsecond, and its number. */
export interface EvaluationPlace {
  recordedAt: string;
  seq: number;
}

/** An evaluation of the list with its place. */
export type PlacedEvaluation = ListedEvaluation & { place_at: string; place_seq: number };

const LIST = sql<PlacedEvaluation>(
  'portal_list_evaluations',
  `SELECT ${evaluationColumns('e', 'p')}, ${agentJson('a')} AS agent, ${instantKey('e.recorded_at')} AS place_at, e.seq AS place_seq
     FROM (SELECT * FROM countersign.evaluations AS e
            WHERE e.tenant_id = $1 AND (e.recorded_at, e.seq) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::bigint, 0))
              AND ($4::uuid IS NULL OR e.agent_id = $4) AND ($5::text IS NULL OR e.status = $5) AND ($6::uuid IS NULL OR e.harness_id = $6)
              AND e.recorded_at >= coalesce($7::timestamptz, '-infinity') AND e.recorded_at < coalesce($8::timestamptz, 'infinity')
            ORDER BY e.recorded_at DESC, e.seq DESC LIMIT $9) AS e
     ${lookUp('agents', 'a', 'id', 'e.agent_id')}
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    ORDER BY e.recorded_at DESC, e.seq DESC`,
);

/** Evaluations behind a place, newest first. */
export const listEvaluations = (
  tx: Transaction,
  filter: EvaluationFilter,
  after: EvaluationPlace | null,
  limit: number,
): Promise<PlacedEvaluation[]> =>
  tx.run(LIST, [
    tx.tenantId,
    after?.recordedAt ?? null,
    after?.seq ?? null,
    filter.agentId,
    filter.status,
    filter.harnessId,
    filter.from,
    filter.to,
    limit,
  ]);

/** What of an evaluation is stored, with where its agent stands. */
export type StoredEvaluation = Omit<EvaluationDetail, 'notes' | 'runs' | 'approval_record'> & {
  /** To the microsecond. */
  recorded_key: string;
  /** When the agent's evaluation before this one was recorded; null for its first. */
  before_key: string | null;
};

const FIND = sql<StoredEvaluation>(
  'portal_find_evaluation',
  `SELECT ${evaluationColumns('e', 'p')}, ${agentJson('a')} AS agent, e.severity_threshold, a.risk_level AS agent_risk_level, e.document,
          ${instantKey('e.recorded_at')} AS recorded_key,
          (SELECT x.id FROM countersign.evaluations AS x WHERE x.tenant_id = $1 AND x.agent_id = e.agent_id
            ORDER BY x.recorded_at DESC, x.seq DESC LIMIT 1) AS latest_of_agent,
          (SELECT ${instantKey('x.recorded_at')} FROM countersign.evaluations AS x
            WHERE x.tenant_id = $1 AND x.agent_id = e.agent_id AND (x.recorded_at, x.seq) < (e.recorded_at, e.seq)
            ORDER BY x.recorded_at DESC, x.seq DESC LIMIT 1) AS before_key
     FROM countersign.evaluations AS e
     ${lookUp('agents', 'a', 'id', 'e.agent_id')}
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    WHERE e.tenant_id = $1 AND e.id = $2`,
);

/** One evaluation; undefined when there is none. */
export const findStoredEvaluation = async (tx: Transaction, id: string): Promise<StoredEvaluation | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];

const LATEST = sql<EvaluationSummary>(
  'portal_find_latest_evaluation',
  `SELECT ${evaluationColumns('e', 'p')} FROM countersign.evaluations AS e
     ${lookUp('approvals', 'p', 'evaluation_id', 'e.id')}
    WHERE e.tenant_id = $1 AND e.agent_id = $2 ORDER BY e.recorded_at DESC, e.seq DESC LIMIT 1`,
);

/** The evaluation of an agent that was recorded last; undefined without one. */
export const findLatestSummary = async (tx: Transaction, agentId: string): Promise<EvaluationSummary | undefined> =>
  (await tx.run(LATEST, [tx.tenantId, agentId]))[0];
