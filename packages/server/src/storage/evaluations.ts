import { documentArray, float8Array, textArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

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
  document: Buffer;
}

const INSERT = sql(
  'insert_evaluations',
  `INSERT INTO countersign.evaluations (tenant_id, id, recorded_by, agent_id, harness_id, name, category, status, pass_rate, severity_threshold, document)
   SELECT $1, id, recorded_by, agent_id, harness_id, name, category, status, pass_rate, severity_threshold, document
     FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::float8[], $10::float8[], $11::text[])
       WITH ORDINALITY AS sent (id, recorded_by, agent_id, harness_id, name, category, status, pass_rate, severity_threshold, document, place)
    ORDER BY place`,
);

/** Stores evaluations in the order given; the database's clock and sequence say when and in what order they were recorded. */
export async function insertEvaluations(tx: Transaction, rows: readonly EvaluationRow[]): Promise<void> {
  await tx.run(INSERT, [
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
    documentArray(rows.map(({ document }) => document)),
  ]);
}
