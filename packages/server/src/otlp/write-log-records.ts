import type { Transaction } from '../database/transaction.ts';
import { lockLogs } from '../ledger/advance.ts';
import {
  countWaiting,
  findKnownTraceIds,
  insertLogRecords,
  joinLogRecords,
  type LogRecordRow,
  markFailingTraces,
  WAITING_MAX,
} from '../storage/log-records.ts';
import { lockTraces } from '../storage/traces.ts';
import type { QueuedExport } from './export.ts';

/**
 * Returns for each export the log records that can be stored, and its partial success. A log record whose trace is not stored must wait
 * for the trace. If WAITING_MAX records wait already, the record is counted as rejected. Repeated records, and records whose traces are in
 * the same batch, count as waiting too.
 */
export async function applyWaitingLimit(
  tx: Transaction,
  items: readonly QueuedExport[],
): Promise<Pick<QueuedExport, 'logs' | 'partialSuccess'>[]> {
  const arrivingRecords = items.filter(({ signal }) => signal === 'logs').flatMap(({ logs }) => logs);
  if (arrivingRecords.length === 0) return items.map(({ logs, partialSuccess }) => ({ logs, partialSuccess }));
  const [known, waiting] = await Promise.all([
    findKnownTraceIds(tx, [...new Set(arrivingRecords.map(({ traceId }) => traceId))]),
    countWaiting(tx),
  ]);
  let free = WAITING_MAX - waiting;
  return items.map(({ signal, logs, partialSuccess }) => {
    if (signal !== 'logs') return { logs, partialSuccess };
    const storableLogs = logs.filter(({ traceId }) => known.has(traceId) || free-- > 0);
    const rejected = logs.length - storableLogs.length;
    if (rejected === 0) return { logs, partialSuccess };
    const reasons = [...partialSuccess.reasons, TOO_MANY_WAIT];
    return { logs: storableLogs, partialSuccess: { rejected: partialSuccess.rejected + rejected, reasons } };
  });
}

const TOO_MANY_WAIT = `${WAITING_MAX} log records already wait for spans of their traces; send the spans to /v1/traces.`;

/** The traces for which log records report an exception. */
interface FailingTraces {
  readonly traceIds: readonly string[];
  /** Whether all of them are stored, and therefore locked now. */
  readonly areLocked: boolean;
}

/** Locks the traces for which these records report an exception. Call it before anything else locks traces. */
export async function lockFailingTraces(
  tx: Transaction,
  records: readonly Pick<LogRecordRow, 'kind' | 'traceId'>[],
): Promise<FailingTraces> {
  const traceIds = [...new Set(records.filter(({ kind }) => kind === 'exception').map(({ traceId }) => traceId))];
  if (traceIds.length === 0) return { traceIds, areLocked: true };
  return { traceIds, areLocked: (await lockTraces(tx, traceIds)).length === traceIds.length };
}

/**
 * Stores log records, and joins those that waited for the traces of this transaction. A trace with an exception is marked, whether the
 * trace or the record arrives first. Another transaction may be inserting a trace that this transaction does not see. The other transaction
 * moves the head of the trace log before it reads log records. So this transaction locks the head before it marks traces.
 * @param writtenTraceIds trace_ids of the traces that this transaction has written. If it has written any, it has moved the head already.
 */
export async function writeLogRecords(
  tx: Transaction,
  records: readonly LogRecordRow[],
  { traceIds, areLocked }: FailingTraces,
  writtenTraceIds: readonly string[],
): Promise<void> {
  insertLogRecords(tx, records);
  if (!areLocked && writtenTraceIds.length === 0) await lockLogs(tx, ['traces']);
  if (traceIds.length > 0) markFailingTraces(tx, traceIds);
  if (writtenTraceIds.length > 0) joinLogRecords(tx, writtenTraceIds);
}
