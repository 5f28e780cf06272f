import type { Completeness } from '@countersign/core/contract/detailed-evaluation';
import type { EvaluationStatus } from '@countersign/core/contract/evaluation';
import { documentArray, float8Array, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { insertEvaluatedRuns } from './run-holds.ts';

/** An evaluation ready to be stored. */
export interface EvaluationRow {
  id: string;
  recordedBy: string;
  agentId: string | null;
  harnessId: string | null;
  name: string;
  category: string | null;
  status: EvaluationStatus;
  passRate: number | null;
  severityThreshold: number | null;
  /** When the evaluation took place, as sent: microseconds since 1970. */
  evaluatedAt: bigint | null;
  /** Name of the suite. */
  suite: string | null;
  completeness: Completeness | null;
  /** The digest of the artifact that was evaluated, as sent. */
  artifact: string | null;
  /** The trace_ids of the runs that were evaluated. */
  traceIds: readonly string[];
  document: Buffer;
}

const INSERT = sql(
  'insert_evaluations',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.evaluations (tenant_id, id, seq, recorded_at, recorded_by, agent_id, harness_id, name, category, status, pass_rate,
                                        severity_threshold, evaluated_at, suite, completeness, artifact, document)
   SELECT $1, id, seq, $2::timestamptz, recorded_by, agent_id, harness_id, name, category, status, pass_rate,
          severity_threshold, evaluated_at, suite, completeness, artifact, document
     FROM unnest($3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::text[], $10::float8[], $11::float8[],
                 $12::timestamptz[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[])
       AS sent (id, recorded_by, agent_id, harness_id, name, category, status, pass_rate,
                severity_threshold, evaluated_at, suite, completeness, artifact, document, seq)`,
    '$3::uuid[]',
  ),
);

/**
 * Stores evaluations, and the trace_ids of the runs that they name. The caller has locked the head of the evidence log.
 * @param recordedAt the time of their events in that log.
 * @param numbers their numbers in the order of records (record-order.ts), at least one for each row.
 */
export function insertEvaluations(
  tx: Transaction,
  recordedAt: string,
  rows: readonly EvaluationRow[],
  numbers: readonly number[],
): void {
  tx.send(INSERT, [
    tx.tenantId,
    recordedAt,
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
    int8Array(rows.map((_, index) => numbers[index]!)),
  ]);
  insertEvaluatedRuns(tx, rows);
}

const FIND = sql<{ agentId: string | null }>(
  'find_evaluation',
  `SELECT e.agent_id AS "agentId" FROM countersign.evaluations AS e WHERE e.tenant_id = $1 AND e.id = $2`,
);

/** The agent of an evaluation; undefined if there is no such evaluation. */
export const findEvaluatedAgent = async (tx: Transaction, id: string): Promise<{ agentId: string | null } | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];
