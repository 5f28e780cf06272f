import { type Item, RejectedItemsError } from '../database/batch-writer.ts';
import { ignoreRejection, type Transaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import type { BatchDocuments } from '../ingest/batch-documents.ts';
import type { PreparedTrace } from '../ingest/prepared-trace.ts';
import type { NewAgent } from '../ingest/register-agents.ts';
import { commitWithReplays, type Outcome } from '../ingest/replays.ts';
import { lookUpTraces, type StoredTraces, storeTraces } from '../ingest/write-traces.ts';
import type { RememberedHeads } from '../ledger/remembered-heads.ts';
import { insertExportRuns } from '../storage/export-runs.ts';
import { newId } from '../storage/new-id.ts';
import { insertExports } from '../storage/otlp-exports.ts';
import type { QueuedExport } from './export.ts';
import { exportResponse } from './responses.ts';
import { applyWaitingLimit, lockFailingTraces, writeLogRecords } from './write-log-records.ts';

/** The path under which responses to exports are stored for repeated requests. */
const REPLAY_PATH = '/v1/';

/** Writes exports of one tenant in one transaction: their bodies, their log records, and their traces as for POST /api/public/traces. */
export function writeExports(
  tx: Transaction,
  items: readonly QueuedExport[],
  documents: BatchDocuments,
  heads: RememberedHeads,
): Promise<Outcome[]> {
  const stored = lookUpTracesEarly(tx, items, heads);
  return commitWithReplays(tx, REPLAY_PATH, items, (newItems) => storeExports(tx, newItems, { documents, heads, stored }));
}

/**
 * Locks and reads the stored traces in the round trip that looks up stored responses. Returns undefined if the exports have no traces. Also
 * returns undefined if log records report exceptions, because `lockFailingTraces` must lock the traces of these records before other
 * traces.
 */
function lookUpTracesEarly(
  tx: Transaction,
  items: readonly QueuedExport[],
  heads: RememberedHeads,
): Promise<StoredTraces> | undefined {
  const traces = items.flatMap((item) => item.traces);
  if (traces.length === 0 || items.some(({ logs }) => logs.some(({ kind }) => kind === 'exception'))) return undefined;
  return ignoreRejection(lookUpTraces(tx, traces, heads));
}

/** What a batch needs besides its exports. */
interface BatchParts {
  documents: BatchDocuments;
  heads: RememberedHeads;
  /** The stored traces and agents of all exports; undefined if they were not looked up yet. */
  stored: Promise<StoredTraces> | undefined;
}

/** The body of an export, and the documents of its traces. Each trace repeats content of the body, so they compress well together. */
export const documentsOfExport = ({ body, traces }: QueuedExport): Buffer[] => [body, ...traces.map(({ document }) => document)];

async function storeExports(
  tx: Transaction,
  items: readonly QueuedExport[],
  { documents, heads, stored }: BatchParts,
): Promise<Outcome[]> {
  const ids = items.map(() => newId());
  const places = await documents.store(tx, items.flatMap(documentsOfExport));
  insertExports(
    tx,
    items.map((item, index) => ({ ...item, id: ids[index]!, place: places(item.body) })),
  );
  insertExportRuns(
    tx,
    items.map(({ otherTraceIds }, index) => ({ id: ids[index]!, traceIds: otherTraceIds })),
  );
  const acceptable = await applyWaitingLimit(tx, items);
  const failing = await lockFailingTraces(
    tx,
    acceptable.flatMap(({ logs }) => logs),
  );
  const itemOf = new Map<Item, QueuedExport>();
  const traces = items.flatMap((item, index) =>
    item.traces.map((trace): PreparedTrace => {
      const traceWithExport = { ...trace, export: { id: ids[index]!, sha256: item.idempotency!.bodySha256 } };
      itemOf.set(traceWithExport, item);
      return traceWithExport;
    }),
  );
  const traceOutcomes =
    traces.length === 0
      ? undefined
      : await storeTraces(tx, traces, heads, () => places, stored).catch((error: unknown) => {
          throw error instanceof RejectedItemsError ? rejectedExports(error.rejections, itemOf) : error;
        });
  const rejected = new Map<Item, ApiError>();
  const registered = new Map<Item, NewAgent[]>(items.map((item) => [item, []]));
  traceOutcomes?.outcomes.forEach((outcome, index) => {
    const item = itemOf.get(traces[index]!)!;
    if (outcome instanceof ApiError) rejected.set(item, outcome);
    registered.get(item)!.push(...traceOutcomes.registered[index]!);
  });
  // If a trace is rejected, its whole export is rejected.
  if (rejected.size > 0) throw new RejectedItemsError(rejected);
  const outcomes = items.map((item, index): Outcome => {
    const json = exportResponse(item.signal, acceptable[index]!.partialSuccess);
    const outcome = { json, headers: {} };
    return traceOutcomes === undefined ? outcome : traceOutcomes.warn(outcome, registered.get(item)!);
  });
  const records = acceptable.flatMap(({ logs }, index) =>
    logs.map((log) => ({ ...log, recordedBy: items[index]!.recordedBy, export: ids[index]! })),
  );
  await writeLogRecords(
    tx,
    records,
    failing,
    traces.map(({ traceId }) => traceId),
  );
  return outcomes;
}

/** The error that rejects every export that contains a rejected trace. */
const rejectedExports = (rejected: ReadonlyMap<Item, ApiError>, itemOf: ReadonlyMap<Item, QueuedExport>): RejectedItemsError =>
  new RejectedItemsError(new Map([...rejected].map(([trace, error]) => [itemOf.get(trace)!, error])));
