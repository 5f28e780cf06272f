import { type Item, RefusedItems } from '../database/batch-writer.ts';
import { type Transaction, underWay } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import type { PreparedTrace } from '../ingest/prepared-trace.ts';
import { commitWithReplays, type Outcome, type Written } from '../ingest/replays.ts';
import { storeTraces } from '../ingest/write-traces.ts';
import type { RememberedHeads } from '../ledger/remembered-heads.ts';
import { countWaiting, findKnownTraceIds, insertLogRecords, joinLogRecords, WAITING_MAX } from '../storage/log-records.ts';
import { newId } from '../storage/new-id.ts';
import { insertExports } from '../storage/otlp-exports.ts';
import { exportAnswer } from './answers.ts';
import type { QueuedExport } from './export.ts';

/** Under what the answers of exports are kept, beside those of the endpoints' paths. */
const KEPT_UNDER = '/v1/';

/** Writes exports of one tenant in one transaction: their bodies, and their traces by the same statements as POST /api/public/traces. */
export const writeExports = (tx: Transaction, items: readonly QueuedExport[], heads: RememberedHeads): Promise<Outcome[]> =>
  commitWithReplays(tx, KEPT_UNDER, items, (fresh) => storeExports(tx, fresh, heads));

async function storeExports(tx: Transaction, items: readonly QueuedExport[], heads: RememberedHeads): Promise<Written> {
  const ids = items.map(() => newId());
  const kept = underWay(
    insertExports(
      tx,
      items.map((item, index) => ({ ...item, id: ids[index]! })),
    ),
  );
  const bounded = await withinWaitingRoom(tx, items);
  const itemOf = new Map<Item, QueuedExport>();
  const traces = items.flatMap((item, index) =>
    item.traces.map((trace): PreparedTrace => {
      const withExport = { ...trace, export: { id: ids[index]!, sha256: item.idempotency!.bodySha256 } };
      itemOf.set(withExport, item);
      return withExport;
    }),
  );
  const written: Written =
    traces.length === 0
      ? NO_TRACES
      : await storeTraces(tx, traces, heads).catch((error: unknown) => {
          throw error instanceof RefusedItems ? refusedExports(error.refused, itemOf) : error;
        });
  const refused = new Map<Item, ApiError>();
  const headers = new Map<Item, Record<string, string>>();
  written.outcomes.forEach((outcome, index) => {
    const item = itemOf.get(traces[index]!)!;
    if (outcome instanceof ApiError) refused.set(item, outcome);
    else headers.set(item, { ...headers.get(item), ...outcome.headers });
  });
  // An export is stored whole or not at all.
  if (refused.size > 0) throw new RefusedItems(refused);
  const outcomes = items.map((item, index): Outcome => {
    const json = exportAnswer(item.signal, bounded[index]!.shortfall);
    return { json, headers: headers.get(item) ?? {} };
  });
  const records = bounded.flatMap(({ logs }, index) =>
    logs.map((log) => ({ ...log, recordedBy: items[index]!.recordedBy, export: ids[index]! })),
  );
  const logs = [insertLogRecords(tx, records)];
  if (traces.length > 0)
    logs.push(
      joinLogRecords(
        tx,
        traces.map(({ traceId }) => traceId),
      ),
    );
  return { outcomes, sent: Promise.all([kept, written.sent, ...logs]) };
}

/** The log records of exports as far as there is room for those that wait for their trace, and what is rejected for lack of it. */
async function withinWaitingRoom(
  tx: Transaction,
  items: readonly QueuedExport[],
): Promise<Pick<QueuedExport, 'logs' | 'shortfall'>[]> {
  const ofLogs = items.filter(({ signal }) => signal === 'logs').flatMap(({ logs }) => logs);
  if (ofLogs.length === 0) return items.map(({ logs, shortfall }) => ({ logs, shortfall }));
  const [known, waiting] = await Promise.all([
    findKnownTraceIds(tx, [...new Set(ofLogs.map(({ traceId }) => traceId))]),
    countWaiting(tx),
  ]);
  let room = WAITING_MAX - waiting;
  return items.map(({ signal, logs, shortfall }) => {
    if (signal !== 'logs') return { logs, shortfall };
    const kept = logs.filter(({ traceId }) => known.has(traceId) || room-- > 0);
    const rejected = logs.length - kept.length;
    if (rejected === 0) return { logs, shortfall };
    const reasons = [...shortfall.reasons, TOO_MANY_WAIT];
    return { logs: kept, shortfall: { rejected: shortfall.rejected + rejected, reasons } };
  });
}

const TOO_MANY_WAIT = `More than ${WAITING_MAX} log records wait for spans of their traces; send the spans to /v1/traces.`;

const NO_TRACES: Written = { outcomes: [], sent: Promise.resolve() };

/** The refusals of traces as refusals of the exports that they are in. */
const refusedExports = (refused: ReadonlyMap<Item, ApiError>, itemOf: ReadonlyMap<Item, QueuedExport>): RefusedItems =>
  new RefusedItems(new Map([...refused].map(([trace, error]) => [itemOf.get(trace)!, error])));
