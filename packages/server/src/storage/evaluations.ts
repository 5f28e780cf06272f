import type { Completeness } from '@countersign/core/contract/detailed-evaluation';
import { documentArray, float8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { instantText, isInFuture } from './instant-text.ts';

/** One evaluation ready to be stored. */
export interface EvaluationRow {
  id: string;
  recordedBy: string;
  agentId: string | null;
  harnessId: string | null;
  name: string;
  category: string | null;
  status: string;
  passRate: number | null;
  severityThreshold: number | null;
  /** When it was run, as its sender says: microseconds since 1970. */
  evaluatedAt: bigint | null;
  /** Name of the suite. */
  suite: string | null;
  completeness: Completeness | null;
  /** Digest of what was evaluated. */
  artifact: string | null;
  document: Buffer;
}

const INSERT = sql(
  'insert_evaluations',
  // The series of an evaluation is its agent, its suite (else its name) and its harness: of each the latest one is kept at hand for the promotion check.
  `WITH stored AS (
   INSERT INTO countersign.evaluations (tenant_id, id, recorded_at, recorded_by, agent_id, harness_id, name, category, status, pass_rate,
                                        severity_threshold, evaluated_at, suite, completeness, artifact, document)
   SELECT $1, id, clock_timestamp(), recorded_by, agent_id, harness_id, name, category, status, pass_rate,
          severity_threshold, evaluated_at, suite, completeness, artifact, document
     FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::float8[], $10::float8[],
                 $11::timestamptz[], $12::text[], $13::text[], $14::text[], $15::text[])
       WITH ORDINALITY AS sent (id, recorded_by, agent_id, harness_id, name, category, status, pass_rate,
                                severity_threshold, evaluated_at, suite, completeness, artifact, document, place)
    ORDER BY place
   RETURNING *)
   INSERT INTO countersign.evaluation_series AS s (tenant_id, agent_id, identity, seq, evaluation_id, name, suite, status, pass_rate, recorded_at, evaluated_at)
   SELECT DISTINCT ON (agent_id, identity) tenant_id, agent_id, countersign.series_identity(name, suite, harness_id) AS identity, seq, id,
          name, suite, status, pass_rate, recorded_at, evaluated_at
     FROM stored WHERE agent_id IS NOT NULL ORDER BY agent_id, identity, seq DESC
   ON CONFLICT (tenant_id, agent_id, identity) DO UPDATE SET seq = excluded.seq, evaluation_id = excluded.evaluation_id, name = excluded.name,
     suite = excluded.suite, status = excluded.status,
     pass_rate = excluded.pass_rate, recorded_at = excluded.recorded_at, evaluated_at = excluded.evaluated_at
    WHERE s.seq < excluded.seq`,
);

// Two batches that each bring the first series of an agent would not see each other: the second one waits for the first.
const LOCK_AGENTS = sql(
  'lock_agents_of_one_series',
  `SELECT FROM countersign.agents WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND NOT several_series ORDER BY id FOR NO KEY UPDATE`,
);

const MARK_AGENTS = sql(
  'mark_agents_of_several_series',
  `UPDATE countersign.agents AS a SET several_series = true
    WHERE a.tenant_id = $1 AND a.id = ANY ($2::uuid[]) AND NOT a.several_series AND (
      SELECT count(*) FROM (
        SELECT FROM countersign.evaluation_series AS s WHERE s.tenant_id = $1 AND s.agent_id = a.id LIMIT 2) AS series) > 1`,
);

/** Stores evaluations in the order given. The database's clock says when they were recorded, and its sequence in what order. */
export async function insertEvaluations(tx: Transaction, rows: readonly EvaluationRow[]): Promise<void> {
  const agentIds = [...new Set(rows.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])))];
  const ofAgents = [tx.tenantId, uuidArray(agentIds)];
  const locked = agentIds.length === 0 ? undefined : tx.run(LOCK_AGENTS, ofAgents);
  const inserted = tx.run(INSERT, [
    tx.tenantId,
    uuidArray(rows.map(({ id }) => id)),
    textArray(rows.map(({ recordedBy }) => recordedBy)),
    uuidArray(rows.map(({ agentId }) => agentId)),
    uuidArray(rows.map(({ harnessId }) => harnessId)),
    textArray(rows.map(({ name }) => name)),
    textArray(rows.map(({ category }) => category)),
    textArray(rows.map(({ status }) => status)),
    float8Array(rows.map(({ passRate }) => passRate)),
    float8Array(rows.map(({ severityThreshold }) => severityThreshold)),
    timestampArray(rows.map(({ evaluatedAt }) => evaluatedAt)),
    textArray(rows.map(({ suite }) => suite)),
    textArray(rows.map(({ completeness }) => completeness)),
    textArray(rows.map(({ artifact }) => artifact)),
    documentArray(rows.map(({ document }) => document)),
  ]);
  const marked = agentIds.length === 0 ? undefined : tx.run(MARK_AGENTS, ofAgents);
  await Promise.all([locked, inserted, marked]);
}

/** An evaluation and whose it is. */
export interface EvaluatedAgent {
  agentId: string | null;
  agentName: string | null;
  highRisk: boolean | null;
}

const FIND = sql<EvaluatedAgent>(
  'find_evaluation',
  `SELECT a.id AS "agentId", a.name AS "agentName", a.risk_level = 'high' AS "highRisk"
     FROM countersign.evaluations AS e
     LEFT JOIN countersign.agents AS a ON a.tenant_id = e.tenant_id AND a.id = e.agent_id
    WHERE e.tenant_id = $1 AND e.id = $2`,
);

/** The agent that an evaluation is of; undefined when there is no such evaluation. */
export const findEvaluatedAgent = async (tx: Transaction, id: string): Promise<EvaluatedAgent | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];

/** An agent's latest evaluation, as a re-certification looks at it. */
export interface LatestEvaluation {
  id: string;
  name: string;
  status: string;
  recordedAt: string;
  /** When it was run, as its sender says. */
  evaluatedAt: string | null;
  /** Whether it was recorded, and run where that is said, after every incident whose re-certification is open. */
  afterIncidents: boolean;
  /** Whether it has a time in the future, because a clock was wrong: then it certifies nothing. */
  inFuture: boolean;
}

const FIND_LATEST = sql<LatestEvaluation>(
  'find_latest_evaluation',
  `SELECT e.id, e.name, e.status, ${instantText('e.recorded_at')} AS "recordedAt", ${isInFuture('e.recorded_at')} AS "inFuture",
          ${instantText('e.evaluated_at')} AS "evaluatedAt",
          NOT EXISTS (SELECT FROM countersign.recertifications AS r
            WHERE r.tenant_id = $1 AND r.agent_id = $2 AND r.closed_at IS NULL 
              AND (r.opened_seq >= e.seq OR r.opened_at >= e.evaluated_at)) AS "afterIncidents"
     FROM countersign.evaluations AS e
    WHERE e.tenant_id = $1 AND e.agent_id = $2 ORDER BY e.seq DESC LIMIT 1`,
);

/** The evaluation of the agent that was recorded last, whatever its status (decisions.md, "Evaluations"). */
export const findLatestEvaluation = async (tx: Transaction, agentId: string): Promise<LatestEvaluation | undefined> =>
  (await tx.run(FIND_LATEST, [tx.tenantId, agentId]))[0];
