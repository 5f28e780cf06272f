import type { RunSource } from '@countersign/core/portal/run-facts';
import { sql, type Transaction } from '../../database/transaction.ts';
import type { RunPlace } from './runs.ts';

/** The newest runs whose trace_id contains a text. */
export interface FoundRuns {
  /** Newest first. If the list lacks a run with the text, that run is older than all runs of the list. */
  places: RunPlace[];
  /** Whether the list is complete. */
  isComplete: boolean;
  /** Every run with the text after the requested place has this ID or a lower one. */
  newest: string;
}

/**
 * The maximum number of found runs. A text in the trace_ids of more runs is so common that the caller can search the list of runs instead.
 */
const FOUND_MAX = 2000;

/**
 * The number of segments that are searched first. If they contain more than FOUND_MAX runs with the text, no other segments are searched.
 */
const FIRST_SEGMENTS = 64;

// The text is compared outside the subquery with the LIMIT. The planner does not know the cost of reading the text of a segment, and would
// otherwise read the texts of all segments before it sorts them.
const FIND = sql<{ segment: string; run: string; ordinal: number }>(
  'portal_find_runs_by_trace_id',
  `SELECT s.last_run AS segment, found.run, found.ordinal
     FROM (SELECT * FROM countersign.run_id_segments
            WHERE tenant_id = $1 AND source = $2 AND last_run >= $3 AND first_run <= $4 AND first_run <= $5
            ORDER BY last_run DESC LIMIT $8) AS s
    CROSS JOIN LATERAL (
      SELECT run, ordinal - 1 AS ordinal FROM unnest(s.runs, string_to_array(s.trace_ids, chr(29))) AS member (run, trace_ids)
       CROSS JOIN LATERAL unnest(string_to_array(member.trace_ids, chr(10))) WITH ORDINALITY AS event (trace_id, ordinal)
       WHERE strpos(member.trace_ids, lower($7::text)) > 0 AND strpos(trace_id, lower($7::text)) > 0
         AND run >= $3 AND run <= $4 AND (run, ordinal - 1) < ($5, $6)) AS found
    WHERE strpos(s.trace_ids, lower($7::text)) > 0
    LIMIT ${FOUND_MAX + 1}`,
);

/** The newest runs of a source, after a place and in a range of IDs (both included), whose trace_id contains a text, ignoring case. */
export async function findRunsByTraceId(
  tx: Transaction,
  query: { source: RunSource; text: string; range: readonly [lowest: string, highest: string]; after: RunPlace },
): Promise<FoundRuns> {
  const { source, text, range, after } = query;
  const find = (segmentsMax: number | null) =>
    tx.run(FIND, [tx.tenantId, source, ...range, after.id, after.ordinal, text, segmentsMax]);
  let rows = await find(FIRST_SEGMENTS);
  // One statement reads all segments again, because segments may be merged between two statements.
  if (rows.length <= FOUND_MAX) rows = await find(null);
  const isComplete = rows.length <= FOUND_MAX;
  // Segments may overlap. The rows are certainly complete only for runs newer than the newest run of the last segment that was read.
  const completeRows = isComplete ? rows : rows.filter(({ run }) => run > rows.at(-1)!.segment);
  const places = completeRows.map(({ run, ordinal }) => ({ id: run, ordinal })).sort(newestFirst);
  return { places, isComplete, newest: rows[0]?.segment ?? range[0] };
}

/** Compares two runs for the order of the list of runs: newest first. */
export const newestFirst = (left: RunPlace, right: RunPlace): number =>
  left.id === right.id ? right.ordinal - left.ordinal : left.id < right.id ? 1 : -1;
