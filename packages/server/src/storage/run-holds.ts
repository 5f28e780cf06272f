import { textArray, uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** The latest day that `retention_until` can have. */
const LAST_DAY = '9999-12-31';

/**
 * SQL that is true for a run that must be kept, because one of these names it: an evaluation, an audit entry `incident.created` (those of
 * the server itself name no run), or an audit entry whose `retention_until` is today or later. `metadata` can also contain a
 * `retention_until`. In the canonical JSON, `metadata` is before the entry's own `retention_until`, so the last one is the entry's own.
 * @param traceId SQL for the trace_id of the run.
 * @param today the parameter with the current day, `YYYY-MM-DD`.
 */
export const isHeld = (traceId: string, today: string): string =>
  `(EXISTS (SELECT FROM countersign.evaluated_runs AS e WHERE e.tenant_id = $1 AND e.trace_id = ${traceId})
    OR EXISTS (SELECT FROM countersign.audit_entries AS a
                WHERE a.tenant_id = $1 AND a.trace_id = ${traceId}
                  AND (a.action = 'incident.created'
                       OR substring(a.document FROM '^.*"retention_until":(null|"\\d{4}-\\d\\d-\\d\\d")') COLLATE "C"
                          BETWEEN '"' || ${today}::text || '"' AND '"${LAST_DAY}"')))`;

const IS_ANY_HELD = sql<{ held: boolean }>(
  'is_any_run_held',
  `SELECT coalesce(bool_or(${isHeld('run.trace_id', '$3')}), false) AS held FROM unnest($2::text[]) AS run (trace_id)`,
);

/** Whether one of these runs must be kept, as `isHeld` defines it. @param today `YYYY-MM-DD`. */
export const isAnyRunHeld = async (tx: Transaction, traceIds: readonly string[], today: string): Promise<boolean> =>
  (await tx.run(IS_ANY_HELD, [tx.tenantId, textArray(traceIds), today]))[0]!.held;

const INSERT = sql(
  'insert_evaluated_runs',
  `INSERT INTO countersign.evaluated_runs (tenant_id, trace_id, evaluation)
   SELECT $1, trace_id, evaluation FROM unnest($2::text[], $3::uuid[]) AS sent (trace_id, evaluation)`,
);

/** Records the runs that evaluations name, so that retention keeps them. */
export function insertEvaluatedRuns(tx: Transaction, evaluations: readonly { id: string; traceIds: readonly string[] }[]): void {
  const named = evaluations.flatMap(({ id, traceIds }) => [...new Set(traceIds)].map((traceId) => ({ id, traceId })));
  if (named.length === 0) return;
  tx.send(INSERT, [tx.tenantId, textArray(named.map(({ traceId }) => traceId)), uuidArray(named.map(({ id }) => id))]);
}
