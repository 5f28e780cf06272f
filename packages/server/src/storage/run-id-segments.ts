import type { RunSource } from '@countersign/core/portal/run-facts';
import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** The searchable ids of a run: its id and trace_id; for a telemetry submission the trace_ids of its events, in order. */
export interface SearchedRun {
  id: string;
  traceIds: readonly string[];
}

/** Separators of runs, and of events of a run, in the text of a segment. A trace_id has no control characters. */
const [RUN_END, EVENT_END] = ['\x1d', '\n'];

const INSERT = sql(
  'insert_run_id_segment',
  `INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
   VALUES ($1, $2, $3, $4, $5, $6::uuid[], lower($7::text))`,
);

/**
 * Adds new runs to the index by trace_id, as one segment. Call it once for each source in the transaction that stores them, so that every
 * run is in exactly one segment.
 */
export function insertRunIds(tx: Transaction, source: RunSource, runs: readonly SearchedRun[]): void {
  if (runs.length === 0) return;
  const ids = runs.map(({ id }) => id);
  const [first, last] = [ids.reduce((low, id) => (id < low ? id : low)), ids.reduce((high, id) => (id > high ? id : high))];
  const count = runs.reduce((sum, { traceIds }) => sum + traceIds.length, 0);
  const text = runs.map(({ traceIds }) => traceIds.join(EVENT_END)).join(RUN_END);
  tx.send(INSERT, [tx.tenantId, source, first, last, count, uuidArray(ids), text]);
}

/** The size of a merged segment, in runs. */
const MERGED_RUNS = 512;
/**
 * A segment with fewer runs is merged. At most half of MERGED_RUNS, so that no merged one is small again; the index has the same number.
 */
const SMALL_RUNS = 256;
/** The smallest number of small segments to merge. */
const MERGED_MIN = 16;
/** The number of small segments that are merged in one transaction. */
const MERGED_MAX = 1000;

// Only segments that this statement deletes are merged. If two servers merge concurrently, the second one waits and then finds nothing.
const MERGE = sql<{ deleted: number }>(
  'merge_run_id_segments',
  `WITH small AS (
     SELECT last_run FROM countersign.run_id_segments
      WHERE tenant_id = $1 AND source = $2 AND run_count < ${SMALL_RUNS} ORDER BY last_run LIMIT ${MERGED_MAX}),
   deleted AS (
     DELETE FROM countersign.run_id_segments AS s USING small
      WHERE s.tenant_id = $1 AND s.source = $2 AND s.last_run = small.last_run AND (SELECT count(*) FROM small) >= ${MERGED_MIN}
     RETURNING s.*),
   parted AS (
     SELECT *, (sum(run_count) OVER (ORDER BY last_run) - run_count) / ${MERGED_RUNS} AS part FROM deleted),
   inserted AS (
     INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
     SELECT $1, $2, (array_agg(first_run ORDER BY first_run))[1], (array_agg(last_run ORDER BY last_run DESC))[1], sum(run_count),
            (SELECT array_agg(run ORDER BY of_part.last_run, place)
               FROM parted AS of_part CROSS JOIN LATERAL unnest(of_part.runs) WITH ORDINALITY AS member (run, place) WHERE of_part.part = parted.part),
            string_agg(trace_ids, chr(29) ORDER BY last_run)
       FROM parted GROUP BY part)
   SELECT count(*)::integer AS deleted FROM deleted`,
);

/** Merges small segments of one source into larger ones. Returns their number; less than MERGED_MAX if no more remain. */
const mergeSegments = async (tx: Transaction, source: RunSource): Promise<number> =>
  (await tx.run(MERGE, [tx.tenantId, source]))[0]!.deleted;

/** Merges up to MERGED_MAX small segments of each source. Returns whether there may be more. */
export async function mergeRunIdSegments(tx: Transaction): Promise<boolean> {
  const merged = await Promise.all([mergeSegments(tx, 'trace'), mergeSegments(tx, 'telemetry')]);
  return merged.some((count) => count === MERGED_MAX);
}
