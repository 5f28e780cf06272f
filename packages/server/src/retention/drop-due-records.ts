import { type DueRange, dueRanges } from '@countersign/core/domain/retention';
import type { Pool } from 'pg';
import { inSnapshotTransaction, inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { verifyPeriods } from '../ledger/verify-periods.ts';
import { readClock } from '../storage/clock.ts';
import { lockRetention, mayDrop } from '../storage/dropped-traces.ts';
import { idRange } from '../storage/portal/id-time.ts';
import { readRetentionPeriods, type StoredPeriod } from '../storage/retention-periods.ts';
import { dropExports } from './drop-exports.ts';
import { dropTelemetry } from './drop-telemetry.ts';
import { dropTraces } from './drop-traces.ts';
import type { DroppedBatch } from './dropped-batch.ts';
import { RunHeldError } from './lock-heads.ts';
import { MayNotDropError } from './may-not-drop-error.ts';

/** What one call of `dropDueRecords` dropped, and what it kept. */
export interface DroppedRecords {
  /** The number of dropped traces. */
  traces: number;
  /** The number of dropped telemetry requests. */
  telemetry: number;
  /** The number of dropped OpenTelemetry exports. */
  exports: number;
  /**
   * The number of due traces and telemetry requests that were kept: records of runs that must be kept (`isHeld` in
   * storage/run-holds.ts), and traces without submissions.
   */
  held: number;
  /**
   * IDs of the segments that had documents of dropped records, but are missing or unreadable: they were changed outside the server.
   * Retention leaves them as they are.
   */
  unreadable: string[];
}

/** Options of `dropDueRecords`. */
export interface DropOptions {
  /** After an abort, no further batch starts. A call that is reading the ledger then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Awaited after each batch, and after each page of the ledger. */
  pause?: () => Promise<void>;
  /** The current time, ISO 8601, which decides which records are due. By default it is the time of the database's clock. */
  now?: string;
}

/**
 * Drops the records of a workspace whose retention period is over, in transactions with a limited number of traces, exports or telemetry
 * requests. Only one transaction at a time drops or erases records of a workspace (`lockRetention`).
 * @param pool connects as the role that owns the tables.
 * @throws MayNotDropError for another role, if the workspace has retention periods.
 * @throws BrokenSealError if the periods were changed outside the server, or are not those that the audit ledger records.
 * @throws LogRewrittenError if the entries of the audit ledger do not match its sealed head, or if the trace log was changed outside the
 *   server.
 * @throws RuleViolationError if a row or a document of a due trace differs from the trace log. Then the batch with this trace is not
 *   dropped.
 * @throws ClockUnsafeError while the clocks cannot be used.
 */
export async function dropDueRecords(pool: Pool, tenantId: string, options: DropOptions = {}): Promise<DroppedRecords> {
  const { periods, clock, isAllowed } = await inSnapshotTransaction(pool, tenantId, async (tx) => {
    tx.clock.requireSafe();
    const clockBefore = tx.clock.read();
    const clock = await readClock(tx);
    tx.clock.requireAgreement(clockBefore, clock);
    return { periods: await readRetentionPeriods(tx), clock, isAllowed: await mayDrop(tx) };
  });
  const now = options.now ?? clock;
  const result: DroppedRecords = { traces: 0, telemetry: 0, exports: 0, held: 0, unreadable: [] };
  if (periods.length === 0) return result;
  if (!isAllowed) throw new MayNotDropError();
  const today = now.slice(0, 10);
  const afterPage = async () => {
    await options.pause?.();
    options.signal?.throwIfAborted();
  };
  if (rangesOf(periods, now).every(({ length }) => length === 0)) return result;
  const [traces, telemetry] = rangesOf(await verifyPeriods(pool, tenantId, periods, afterPage), now);
  const drop = (range: DueRange, dropBatch: (tx: Transaction, ids: readonly [string, string]) => Promise<DroppedBatch>) =>
    dropRange(pool, tenantId, { range, dropBatch, result, options });
  for (const range of traces)
    result.traces += await drop(range, (tx, ids) => dropTraces(tx, ids, { range, allRanges: traces }, today));
  for (const range of traces) result.exports += await drop(range, (tx, ids) => dropExports(tx, ids, range));
  for (const range of telemetry) result.telemetry += await drop(range, (tx, ids) => dropTelemetry(tx, ids, range, today));
  return result;
}

/** The due ranges of traces, and the due ranges of telemetry. */
const rangesOf = (periods: readonly StoredPeriod[], now: string): [DueRange[], DueRange[]] => [
  dueRanges(periods, 'traceDays', Date.parse(now)),
  dueRanges(periods, 'telemetryDays', Date.parse(now)),
];

interface RangeToDrop {
  range: DueRange;
  dropBatch: (tx: Transaction, ids: readonly [string, string]) => Promise<DroppedBatch>;
  result: DroppedRecords;
  options: DropOptions;
}

/** Drops the records of one range, batch by batch. Returns their number. */
async function dropRange(pool: Pool, tenantId: string, { range, dropBatch, result, options }: RangeToDrop): Promise<number> {
  const [first, last] = idRange({ from: range.from, to: range.before });
  let dropped = 0;
  let after: string | undefined = first;
  while (after !== undefined && options.signal?.aborted !== true) {
    const ids: readonly [string, string] = [after, last];
    const batch = await inTenantTransaction(pool, tenantId, (tx) => {
      lockRetention(tx);
      return dropBatch(tx, ids);
    }).catch((error: unknown) => {
      if (error instanceof RunHeldError) return 'held' as const;
      throw error;
    });
    // A record that keeps a run of the batch was written after the batch was read. The transaction was rolled back: read the batch again.
    if (batch === 'held') continue;
    dropped += batch.dropped;
    result.held += batch.held;
    result.unreadable.push(...batch.unreadable);
    after = batch.next;
    await options.pause?.();
  }
  return dropped;
}
