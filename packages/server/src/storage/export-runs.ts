import { textArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

const INSERT = sql(
  'insert_export_runs',
  `INSERT INTO countersign.export_runs (tenant_id, trace_id, export)
   SELECT $1, trace_id, export FROM unnest($2::text[], $3::uuid[]) AS sent (trace_id, export)`,
);

/**
 * Stores which runs each export contains, so that the erasure of a run finds the exports that contain the run.
 * @param exports each has an ID of `otlp_exports`, and distinct trace_ids.
 */
export function insertExportRuns(tx: Transaction, exports: readonly { id: string; traceIds: readonly string[] }[]): void {
  const rows = exports.flatMap(({ id, traceIds }) => traceIds.map((traceId) => ({ id, traceId })));
  if (rows.length === 0) return;
  tx.send(INSERT, [tx.tenantId, textArray(rows.map(({ traceId }) => traceId)), uuidArray(rows.map(({ id }) => id))]);
}

const FIND = sql<{ export: string }>(
  'find_exports_of_run',
  'SELECT export FROM countersign.export_runs WHERE tenant_id = $1 AND trace_id = $2',
);

/** The IDs of the stored exports for which `insertExportRuns` stored this run. */
export const findExportsOfRun = async (tx: Transaction, traceId: string): Promise<string[]> =>
  (await tx.run(FIND, [tx.tenantId, traceId])).map((row) => row.export);

const DELETE = sql(
  'delete_export_runs',
  'DELETE FROM countersign.export_runs WHERE tenant_id = $1 AND export = ANY ($2::uuid[])',
);

/** Deletes the rows of `export_runs` for these exports. */
export const deleteExportRuns = (tx: Transaction, exports: readonly string[]): void =>
  tx.send(DELETE, [tx.tenantId, uuidArray(exports)]);
