import { operations } from '@countersign/core/contract/operations';
import { type AgentClaim, claimedAgents } from '@countersign/core/domain/agent-claim';
import type { Transaction } from '../database/transaction.ts';
import { validationFailed } from '../errors/api-error.ts';
import { findAgents } from '../storage/agents.ts';
import { newId } from '../storage/new-id.ts';
import { insertRunIds, type SearchedRun } from '../storage/run-id-segments.ts';
import { insertTelemetryEvents, insertTelemetrySubmissions, type TelemetryRow } from '../storage/telemetry.ts';
import { BatchAgents } from './batch-agents.ts';
import type { BatchDocuments } from './batch-documents.ts';
import { ingestReply } from './ingest-request.ts';
import { type NewAgent, registerAgents } from './register-agents.ts';
import { commitWithReplays, type Outcome, type Replayable } from './replays.ts';

/** A telemetry request to write: its events as rows, and its original bytes. */
export interface PreparedTelemetry extends Replayable {
  document: Buffer;
  recordedBy: string;
  events: TelemetryRow[];
  /** The claim of each event, in the same order. */
  claims: AgentClaim[];
}

/** Writes telemetry requests of one tenant in one transaction. */
export const writeTelemetry = (
  tx: Transaction,
  items: readonly PreparedTelemetry[],
  documents: BatchDocuments,
): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.ingestTelemetry.path, items, (newItems) => store(tx, newItems, documents));

async function store(tx: Transaction, items: readonly PreparedTelemetry[], documents: BatchDocuments): Promise<Outcome[]> {
  const batchAgents = new BatchAgents(await findAgents(tx, ...claimedAgents(items.flatMap(({ claims }) => claims))));
  const submissions: { id: string; recordedBy: string; document: Buffer }[] = [];
  const rows: { submission: string; agentId: string | null; event: TelemetryRow }[] = [];
  const searchedRuns: SearchedRun[] = [];
  const registered: (readonly NewAgent[])[] = [];
  const outcomes = items.map((item, index): Outcome => {
    const resolved = batchAgents.resolve(item.claims, item.recordedBy);
    if ('issues' in resolved) return validationFailed(...resolved.issues);
    const id = newId();
    registered[index] = resolved.registered;
    submissions.push({ id, recordedBy: item.recordedBy, document: item.document });
    searchedRuns.push({ id, traceIds: item.events.map(({ traceId }) => traceId) });
    item.events.forEach((event, position) => {
      rows.push({ submission: id, agentId: resolved.agentIds[position] ?? null, event });
    });
    return ingestReply({ ok: true, ingested: item.events.length });
  });
  if (rows.length === 0) return outcomes;
  const registering = registerAgents(tx, batchAgents.registered);
  const registration = registering instanceof Promise ? await registering : registering;
  const storing = documents.store(
    tx,
    submissions.map(({ document }) => document),
  );
  const places = storing instanceof Promise ? await storing : storing;
  insertTelemetrySubmissions(
    tx,
    submissions.map((each) => ({ ...each, place: places(each.document) })),
  );
  insertTelemetryEvents(tx, rows);
  insertRunIds(tx, 'telemetry', searchedRuns);
  return outcomes.map((outcome, index) => registration.warn(outcome, registered[index] ?? []));
}
