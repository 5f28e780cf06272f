import type { RunSource } from '@countersign/core/portal/run-facts';
import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A trace with its trace_id, or a telemetry request with the trace_ids of its events, in order. */
export interface SearchedRun {
  id: string;
  traceIds: readonly string[];
}

/** The separators between runs, and between events of a run, in the text of a segment. A trace_id has no control characters. */
const [RUN_END, EVENT_END] = ['\x1d', '\n'];

const INSERT = sql(
  'insert_run_id_segment',
  `INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
   VALUES ($1, $2, $3, $4, $5, $6::uuid[], lower($7::text))`,
);

/**
 * Adds new runs to the index of trace_ids, as one segment. Call it once in the transaction that stores the runs, so that every run is in
 * exactly one segment.
 */
export function insertRunIds(tx: Transaction, source: RunSource, runs: readonly SearchedRun[]): void {
  if (runs.length === 0) return;
  storeSegment(tx, source, {
    runs: runs.map(({ id }) => id),
    runCount: runs.reduce((sum, { traceIds }) => sum + traceIds.length, 0),
    traceIds: runs.map(({ traceIds }) => traceIds.join(EVENT_END)).join(RUN_END),
  });
}

/** The columns of a segment. Its lowest and its highest run are computed from them. */
interface SegmentColumns {
  /** The IDs of traces, or of telemetry requests. */
  runs: readonly string[];
  /** The number of lines in `traceIds`: one for each trace, and one for each event of a telemetry request. */
  runCount: number;
  /** The trace_ids of the runs in the order of `runs`, with the separators RUN_END and EVENT_END. */
  traceIds: string;
}

function storeSegment(tx: Transaction, source: RunSource, { runs, runCount, traceIds }: SegmentColumns): void {
  const first = runs.reduce((low, id) => (id < low ? id : low));
  const last = runs.reduce((high, id) => (id > high ? id : high));
  tx.send(INSERT, [tx.tenantId, source, first, last, runCount, uuidArray(runs), traceIds]);
}

/** The approximate `runCount` of a merged segment. */
const MERGED_RUNS = 512;
/**
 * A segment with a lower `runCount` is small, and can be merged. The value is at most half of MERGED_RUNS, so that only the last merged
 * segment can be small again. The condition of the index run_id_segments_small has the same number.
 */
const SMALL_RUNS = 256;
/** The smallest number of small segments to merge. */
const MERGED_MIN = 16;
/** The largest number of small segments of one source that are merged in one transaction. */
const MERGED_MAX = 1000;
/**
 * The largest size of the trace_ids of one source that one transaction merges. All of them are in memory at once. A small segment with the
 * longest trace_ids has half a MiB.
 */
const MERGED_BYTES_MAX = 8 * 2 ** 20;

/** The seed of the advisory lock of an index: the bytes of 'CSRIDS'. */
const INDEX_LOCK = 0x43_53_52_49_44_53;

const LOCK_INDEX = sql('lock_run_id_segments', `SELECT pg_advisory_xact_lock(hashtextextended($1::text, ${INDEX_LOCK}))`);

/**
 * Locks the segments of the tenant against replacement by other transactions until this one ends. New runs can still be added. Without this
 * lock, a statement that waits for a deleted segment would not see the segment that replaces it, and so would miss runs.
 */
const lockIndex = (tx: Transaction): void => tx.send(LOCK_INDEX, [tx.tenantId]);

// Returns only segments that this statement deletes, so that no segment is merged twice.
const TAKE_SMALL = sql<SegmentColumns & { lastRun: string; found: number }>(
  'take_small_run_id_segments',
  `DELETE FROM countersign.run_id_segments AS s USING (
     SELECT last_run, count(*) OVER () AS found, sum(octet_length(trace_ids)) OVER (ORDER BY last_run) AS bytes FROM (
       SELECT last_run, trace_ids FROM countersign.run_id_segments
        WHERE tenant_id = $1 AND source = $2 AND run_count < ${SMALL_RUNS} ORDER BY last_run LIMIT ${MERGED_MAX}) AS small) AS taken
    WHERE s.tenant_id = $1 AND s.source = $2 AND s.last_run = taken.last_run
      AND taken.found >= ${MERGED_MIN} AND taken.bytes <= ${MERGED_BYTES_MAX}
   RETURNING s.last_run AS "lastRun", s.run_count AS "runCount", s.runs, s.trace_ids AS "traceIds", taken.found`,
);

/**
 * Merges small segments of one source into larger ones, within MERGED_MAX and MERGED_BYTES_MAX. Returns whether more may remain to merge.
 */
async function mergeSegments(tx: Transaction, source: RunSource): Promise<boolean> {
  const taken = await tx.run(TAKE_SMALL, [tx.tenantId, source]);
  taken.sort((left, right) => (left.lastRun < right.lastRun ? -1 : 1));
  let runsBefore = 0;
  const parts = new Map<number, typeof taken>();
  for (const segment of taken) {
    const part = Math.floor(runsBefore / MERGED_RUNS);
    parts.set(part, [...(parts.get(part) ?? []), segment]);
    runsBefore += segment.runCount;
  }
  for (const part of parts.values()) {
    storeSegment(tx, source, {
      runs: part.flatMap(({ runs }) => runs),
      runCount: part.reduce((sum, { runCount }) => sum + runCount, 0),
      traceIds: part.map(({ traceIds }) => traceIds).join(RUN_END),
    });
  }
  const found = taken[0]?.found ?? 0;
  return found === MERGED_MAX || taken.length < found;
}

/** Merges small segments of each source. Returns whether more may remain to merge. */
export async function mergeRunIdSegments(tx: Transaction): Promise<boolean> {
  lockIndex(tx);
  // One source after the other, so that the trace_ids of only one are in memory.
  const hasMoreTraces = await mergeSegments(tx, 'trace');
  const hasMoreTelemetry = await mergeSegments(tx, 'telemetry');
  return hasMoreTraces || hasMoreTelemetry;
}

const TAKE = sql<Pick<SegmentColumns, 'runs' | 'traceIds'>>(
  'take_run_id_segments',
  `DELETE FROM countersign.run_id_segments AS s
    WHERE s.tenant_id = $1 AND s.source = $2 AND s.last_run >= $4::uuid AND s.first_run <= $5::uuid AND s.runs && $3::uuid[]
   RETURNING s.runs, s.trace_ids AS "traceIds"`,
);

/** Removes runs of one source from the index of trace_ids. */
export async function removeRunIds(tx: Transaction, source: RunSource, runs: readonly string[]): Promise<void> {
  if (runs.length === 0) return;
  const removed = new Set(runs);
  lockIndex(tx);
  for (const segment of await tx.run(TAKE, [tx.tenantId, source, ...rangeOf(runs)]))
    storeRuns(
      tx,
      source,
      runsIn(segment).filter(({ run }) => !removed.has(run)),
    );
}

/**
 * Removes the trace_ids of some events of telemetry requests from the index. It leaves empty lines, so that the positions of other events
 * do not change.
 * @param requests each with the positions of the events, from 0.
 */
export async function blankRunIds(
  tx: Transaction,
  requests: readonly { id: string; ordinals: readonly number[] }[],
): Promise<void> {
  if (requests.length === 0) return;
  const ordinalsOf = new Map(requests.map(({ id, ordinals }) => [id, new Set(ordinals)]));
  lockIndex(tx);
  for (const segment of await tx.run(TAKE, [tx.tenantId, 'telemetry', ...rangeOf([...ordinalsOf.keys()])])) {
    const blankLines = (run: string, text: string) =>
      text
        .split(EVENT_END)
        .map((line, ordinal) => (ordinalsOf.get(run)?.has(ordinal) === true ? '' : line))
        .join(EVENT_END);
    storeRuns(
      tx,
      'telemetry',
      runsIn(segment).map(({ run, text }) => ({ run, text: blankLines(run, text) })),
    );
  }
}

/** The runs of a segment with their texts. */
function runsIn({ runs, traceIds }: Pick<SegmentColumns, 'runs' | 'traceIds'>): { run: string; text: string }[] {
  const texts = traceIds.split(RUN_END);
  return runs.map((run, index) => ({ run, text: texts[index] ?? '' }));
}

function storeRuns(tx: Transaction, source: RunSource, runs: readonly { run: string; text: string }[]): void {
  if (runs.length === 0) return;
  storeSegment(tx, source, {
    runs: runs.map(({ run }) => run),
    runCount: runs.reduce((sum, { text }) => sum + text.split(EVENT_END).length, 0),
    traceIds: runs.map(({ text }) => text).join(RUN_END),
  });
}

/** Runs as a parameter of type `uuid[]`, the lowest run, and the highest run. */
function rangeOf(runs: readonly string[]): [Buffer, string, string] {
  const sorted = [...runs].sort();
  return [uuidArray(sorted), sorted[0]!, sorted.at(-1)!];
}
