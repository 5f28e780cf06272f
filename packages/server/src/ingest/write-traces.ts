import { operations } from '@countersign/core/contract/operations';
import { claimedAgents } from '@countersign/core/domain/agent-claim';
import type { TraceSubmission } from '@countersign/core/domain/trace-event';
import type { Usage } from '@countersign/core/domain/usage';
import { AGENT_RANK } from '@countersign/core/otlp/agent-rank';
import type { Transaction } from '../database/transaction.ts';
import { ApiError, validationFailed } from '../errors/api-error.ts';
import type { RememberedHeads } from '../ledger/remembered-heads.ts';
import { reserveTraceEvent } from '../ledger/trace-log.ts';
import { findAgents } from '../storage/agents.ts';
import { readClock } from '../storage/clock.ts';
import { initializeMergedSpans } from '../storage/merged-spans.ts';
import { newId } from '../storage/new-id.ts';
import { insertRunIds } from '../storage/run-id-segments.ts';
import { insertTraceSubmissions, insertTraces, type KnownTrace, lockTraces } from '../storage/traces.ts';
import { BatchAgents } from './batch-agents.ts';
import type { BatchDocuments, DocumentPlaces } from './batch-documents.ts';
import { ingestReply } from './ingest-request.ts';
import { factsOf, mergeTraces, type ResolvedTrace, submissionNumber } from './merge-traces.ts';
import type { PreparedTrace } from './prepared-trace.ts';
import { type NewAgent, NO_REGISTRATION, type Registration, registerAgents } from './register-agents.ts';
import { commitWithReplays, type Outcome } from './replays.ts';

/** Writes trace requests of one tenant in one transaction: usually two round trips, or three if a run is merged. */
export const writeTraces = (
  tx: Transaction,
  items: readonly PreparedTrace[],
  documents: BatchDocuments,
  heads: RememberedHeads,
): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.ingestTrace.path, items, async (newItems) => {
    const { outcomes, registered, warn } = await storeTraces(tx, newItems, heads, (accepted) => documents.store(tx, accepted));
    return outcomes.map((outcome, index) => warn(outcome, registered[index]!));
  });

/** The result of `storeTraces`. */
interface TraceOutcomes {
  /** The outcome of each request, in order. */
  outcomes: Outcome[];
  /** The agents that each request has registered. */
  registered: (readonly NewAgent[])[];
  /** Adds the warning about registered agents to a response (register-agents.ts). */
  warn: Registration['warn'];
}

/** The result of `lookUpTraces`: the locked traces, the agents, and the time if the clock was read. */
export type StoredTraces = Awaited<ReturnType<typeof lookUpTraces>>;

/**
 * In one round trip, locks the stored traces of requests and reads the agents that the requests name. Also reads the clock if no head is
 * remembered.
 */
export async function lookUpTraces(tx: Transaction, items: readonly PreparedTrace[], heads: RememberedHeads) {
  const [clock, locked, agents] = await Promise.all([
    heads.has(tx.tenantId) ? undefined : readClock(tx),
    lockTraces(
      tx,
      items.map(({ traceId }) => traceId),
    ),
    findAgents(tx, ...claimedAgents(items.map(({ claim }) => claim))),
  ]);
  return { clock, locked, agents };
}

/**
 * Stores new traces and merges known ones; the caller commits. All trace_ids must be different.
 * @param storeDocuments called with the documents of the traces that are not rejected. Returns where they are stored.
 * @param stored the result of lookUpTraces for these requests (and possibly others), if the caller has already looked them up.
 * @throws RejectedItemsError like `mergeTraces`.
 */
export async function storeTraces(
  tx: Transaction,
  items: readonly PreparedTrace[],
  heads: RememberedHeads,
  storeDocuments: (accepted: readonly Buffer[]) => DocumentPlaces | Promise<DocumentPlaces>,
  stored: Promise<StoredTraces> = lookUpTraces(tx, items, heads),
): Promise<TraceOutcomes> {
  const { clock, locked, agents } = await stored;
  const knownByTraceId = new Map(locked.map((trace) => [trace.traceId, trace]));
  const batchAgents = new BatchAgents(agents);
  const traces = items.map((item) => resolveTrace(item, knownByTraceId.get(item.traceId), batchAgents));
  const acceptedTraces = traces.filter((each): each is ResolvedTrace => !(each instanceof Error));
  const registered = traces.map((each) => (each instanceof Error ? [] : each.registered));
  if (acceptedTraces.length === 0) return { outcomes: traces as ApiError[], registered, warn: NO_REGISTRATION.warn };

  const registering = registerAgents(tx, batchAgents.registered);
  const registration = registering instanceof Promise ? await registering : registering;
  const event = await reserveTraceEvent(tx, heads, clock, acceptedTraces.map(submissionOfEvent));
  const { receivedAt } = event;
  const storing = storeDocuments(acceptedTraces.map(({ item }) => item.document));
  insertRows(tx, receivedAt, acceptedTraces, storing instanceof Promise ? await storing : storing);
  const knownTraces = acceptedTraces.filter(({ known }) => known !== undefined);
  const mergedTotals = await mergeTraces(tx, receivedAt, knownTraces);
  await event.append();
  const outcomes = traces.map((each) =>
    each instanceof Error ? each : acceptedReply(each, mergedTotals.get(each.id) ?? each.totals!),
  );
  return { outcomes, registered, warn: registration.warn };
}

/**
 * Sends the statements whose results are not needed. They insert new traces with their search index, the rows of spans that known traces
 * need before merging, and the submissions.
 */
function insertRows(tx: Transaction, receivedAt: string, accepted: readonly ResolvedTrace[], places: DocumentPlaces): void {
  const newTraces = accepted.filter(({ known }) => known === undefined);
  const knownIds = accepted.filter(({ known }) => known !== undefined).map(({ id }) => id);
  const rows = newTraces.map((each) => factsOf(each, each.item.supplied, each.totals!, each.item.spanCount));
  const runs = newTraces.map(({ id, item }) => ({ id, traceIds: [item.traceId] }));
  insertTraces(tx, receivedAt, rows);
  insertRunIds(tx, 'trace', runs);
  if (knownIds.length > 0) initializeMergedSpans(tx, knownIds);
  insertTraceSubmissions(
    tx,
    receivedAt,
    accepted.map((each) => submissionRow(each, places)),
  );
}

/** Resolves the agent and the trace of a request, or returns the error that rejects it. */
function resolveTrace(item: PreparedTrace, known: KnownTrace | undefined, batchAgents: BatchAgents): ResolvedTrace | ApiError {
  const totals = known === undefined ? item.totals : undefined;
  if (totals instanceof ApiError) return totals;
  const isOutranked = known?.agentId != null && item.agentRank < known.agentRank;
  const resolved = batchAgents.resolve(isOutranked ? [] : [item.claim], item.recordedBy, ([agentId]) => {
    if (known?.agentId == null || agentId == null || known.agentId === agentId) return [];
    // Spans arrive in any order, and the root span may correct the agent. But an explicitly named agent must match the agent of the trace
    // if the agent of the trace came from the root span, or was also named explicitly.
    if (item.agentRank < AGENT_RANK.claimed || known.agentRank < AGENT_RANK.root) return [];
    const member = item.claim.id === null ? 'agent_name' : 'agent_id';
    return [
      {
        path: `/${member}`,
        code: 'agent_mismatch',
        message: 'this trace_id belongs to another agent; give every run its own trace_id',
      },
    ];
  });
  if ('issues' in resolved) return validationFailed(...resolved.issues);
  const { agentIds, registered } = resolved;
  return { item, id: known?.id ?? newId(), agentId: agentIds[0] ?? null, registered, known, totals };
}

const submissionRow = (each: ResolvedTrace, places: DocumentPlaces) => ({
  trace: each.id,
  number: submissionNumber(each),
  recordedBy: each.item.recordedBy,
  document: each.item.document,
  place: places(each.item.document),
  spans: each.item.spans,
  export: each.item.export?.id ?? null,
});

/** The submission of a request in the trace log. */
const submissionOfEvent = (each: ResolvedTrace): TraceSubmission => ({
  agent_id: each.agentId ?? each.known?.agentId ?? null,
  document_sha256: each.item.documentSha256,
  export_sha256: each.item.export?.sha256 ?? null,
  id: each.id,
  number: submissionNumber(each),
  recorded_by: each.item.recordedBy,
  trace_id: each.item.traceId,
});

const acceptedReply = ({ item, id }: ResolvedTrace, totals: Usage): Outcome =>
  ingestReply({
    ok: true,
    id,
    trace_id: item.traceId,
    spans_ingested: item.spanCount,
    tokens: totals.totalTokens,
    cost_usd: totals.costUsd === null ? null : Number(totals.costUsd),
  });
