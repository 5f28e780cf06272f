import { ApiError } from '../api-error.ts';
import { type Item, RefusedItems } from '../database/batch-writer.ts';
import { type Transaction, underWay } from '../database/transaction.ts';
import { commitWithReplays, type Outcome, type Written } from '../ingest/replays.ts';
import { type PreparedTrace, storeTraces } from '../ingest/write-traces.ts';
import { newId } from '../new-id.ts';
import { insertExports } from '../storage/otlp-exports.ts';
import type { QueuedExport } from './export.ts';

/** Under what the answers of exports are kept, beside those of the endpoints' paths. */
const KEPT_UNDER = '/v1/';

/** Writes exports of one tenant in one transaction: their bodies, and their traces by the same statements as POST /api/public/traces. */
export const writeExports = (tx: Transaction, items: readonly QueuedExport[]): Promise<Outcome[]> =>
  commitWithReplays(tx, KEPT_UNDER, items, (fresh) => storeExports(tx, fresh));

async function storeExports(tx: Transaction, items: readonly QueuedExport[]): Promise<Written> {
  const ids = items.map(() => newId());
  const kept = underWay(
    insertExports(
      tx,
      items.map((item, index) => ({ ...item, id: ids[index]! })),
    ),
  );
  const itemOf = new Map<Item, QueuedExport>();
  const traces = items.flatMap((item, index) =>
    item.traces.map((trace): PreparedTrace => {
      const withExport = { ...trace, export: ids[index]! };
      itemOf.set(withExport, item);
      return withExport;
    }),
  );
  const written = await storeTraces(tx, traces).catch((error: unknown) => {
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
  const outcomes = items.map((item): Outcome => ({ json: item.answer, headers: headers.get(item) ?? {} }));
  return { outcomes, sent: Promise.all([kept, written.sent]) };
}

/** The refusals of traces as refusals of the exports that they are in. */
const refusedExports = (refused: ReadonlyMap<Item, ApiError>, itemOf: ReadonlyMap<Item, QueuedExport>): RefusedItems =>
  new RefusedItems(new Map([...refused].map(([trace, error]) => [itemOf.get(trace)!, error])));
