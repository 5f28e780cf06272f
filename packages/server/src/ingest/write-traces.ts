import { operations } from '@countersign/core/contract/operations';
import { boundedCost, type Sums, SumTooLargeError, traceTotals, type Usage } from '@countersign/core/domain/usage';
import { AGENT_RANK } from '@countersign/core/otlp/agent-rank';
import { ApiError, validationFailed } from '../api-error.ts';
import { type Item, RefusedItems } from '../database/batch-writer.ts';
import { type Transaction, underWay } from '../database/transaction.ts';
import { newId } from '../new-id.ts';
import { findAgents } from '../storage/agents.ts';
import { carryMergedSpans, mergeSpans, type SpanSums } from '../storage/merged-spans.ts';
import { insertRunIds } from '../storage/run-id-segments.ts';
import {
  insertTraceSubmissions,
  insertTraces,
  type KnownTrace,
  lockTraces,
  type TraceFacts,
  updateTraces,
} from '../storage/traces.ts';
import { AgentBook, type AgentClaim, claimed } from './agent-book.ts';
import { answered } from './endpoint.ts';
import { type NewAgent, registerAgents } from './register-agents.ts';
import { commitWithReplays, type Outcome, type Replayable, type Written } from './replays.ts';
import { sumTooLarge } from './sum-too-large.ts';

/** A trace request ready to be written: what is searched by as columns, its bytes as they came. */
export interface PreparedTrace extends Replayable, Omit<TraceFacts, 'id' | 'agentId' | 'totals'> {
  /** The totals of its trace if it is the first one there, or why it cannot be that. */
  totals: Usage | ApiError;
  document: Buffer;
  recordedBy: string;
  claim: AgentClaim;
  /** What `spansText` makes of its spans; a text and not rows, because it waits for a batch. */
  spans: string;
  /** `otlp_exports.id`, where an export brought it. */
  export?: string;
}

/** Writes trace requests of one tenant in one transaction: new runs in two round trips, merged ones in three. */
export const writeTraces = (tx: Transaction, items: readonly PreparedTrace[]): Promise<Outcome[]> =>
  commitWithReplays(tx, operations.ingestTrace.path, items, (fresh) => storeTraces(tx, fresh));

/** One request with the place it goes to: a new trace, or one that is known and now locked. */
interface Placed {
  item: PreparedTrace;
  id: string;
  agentId: string | null;
  /** The agent that it registers, if any. */
  registered: readonly NewAgent[];
  known: KnownTrace | undefined;
  /** Of a new trace; those of a known one are merged. */
  totals: Usage | undefined;
}

/** Stores or merges traces; the caller commits. Of each trace_id there may be one. */
export async function storeTraces(tx: Transaction, items: readonly PreparedTrace[]): Promise<Written> {
  const [locked, agents] = await Promise.all([
    lockTraces(
      tx,
      items.map(({ traceId }) => traceId),
    ),
    findAgents(tx, ...claimed(items.map(({ claim }) => claim))),
  ]);
  const knownByTraceId = new Map(locked.map((trace) => [trace.traceId, trace]));
  const book = new AgentBook(agents);
  const placed = items.map((item) => place(item, knownByTraceId.get(item.traceId), book));
  const accepted = placed.filter((each): each is Placed => !(each instanceof Error));

  const fresh = accepted.filter(({ known }) => known === undefined);
  const known = accepted.filter(({ known }) => known !== undefined);

  const registering = registerAgents(tx, book.registered);
  const registration = registering instanceof Promise ? await registering : registering;
  const sent: Promise<unknown>[] = [
    underWay(registration.sent),
    underWay(
      insertTraces(
        tx,
        fresh.map((each) => facts(each, each.item.supplied, each.totals!, each.item.spanCount)),
      ),
    ),
    underWay(
      insertRunIds(
        tx,
        'trace',
        fresh.map(({ id, item }) => ({ id, traceIds: [item.traceId] })),
      ),
    ),
  ];
  if (known.length > 0)
    sent.push(
      underWay(
        carryMergedSpans(
          tx,
          known.map(({ id }) => id),
        ),
      ),
    );
  if (accepted.length > 0) sent.push(underWay(insertTraceSubmissions(tx, accepted.map(submission))));
  const merged = await merge(tx, known, sent);
  const outcomes = placed.map(
    (each): Outcome =>
      each instanceof Error ? each : registration.warn(accept(each, merged.get(each.id) ?? each.totals!), each.registered),
  );
  return { outcomes, sent: Promise.all(sent) };
}

/** Resolves agent and trace of a request, or says why it is refused. Nothing is written for a refused one. */
function place(item: PreparedTrace, known: KnownTrace | undefined, book: AgentBook): Placed | ApiError {
  const totals = known === undefined ? item.totals : undefined;
  if (totals instanceof ApiError) return totals;
  const isOutranked = known?.agentId != null && item.agentRank < known.agentRank;
  const resolved = book.resolve(isOutranked ? [] : [item.claim], item.recordedBy, ([agentId]) => {
    if (known?.agentId == null || agentId == null || known.agentId === agentId) return [];
    // Spans arrive in any order: the root may correct what they say, but two senders may not contradict each other.
    if (item.agentRank < AGENT_RANK.claimed || known.agentRank < AGENT_RANK.root) return [];
    const member = item.claim.id === null ? 'agent_name' : 'agent_id';
    return [
      {
        path: `/${member}`,
        code: 'agent_mismatch',
        message: 'this trace_id belongs to another agent; give every run a trace_id of its own',
      },
    ];
  });
  if ('issues' in resolved) return validationFailed(...resolved.issues);
  const { agentIds, registered } = resolved;
  return { item, id: known?.id ?? newId(), agentId: agentIds[0] ?? null, registered, known, totals };
}

/** Merges into known traces the spans of this request, whose submission is on its way already, and their totals. */
async function merge(tx: Transaction, placed: readonly Placed[], sent: Promise<unknown>[]): Promise<Map<string, Usage>> {
  if (placed.length === 0) return new Map();
  const submissions = placed.map((each) => ({ trace: each.id, number: submissionNumber(each) }));
  const sums = new Map((await mergeSpans(tx, submissions)).map((row) => [row.trace, row]));
  const totals = new Map<string, Usage>();
  const refused = new Map<Item, ApiError>();
  const updates = placed.flatMap((each) => {
    const supplied = mergedUsage(each.item.supplied, each.known!.supplied);
    try {
      const sum = sums.get(each.id)!;
      const total = traceTotals(supplied, summedUsage(sum));
      totals.set(each.id, total);
      return [facts(each, supplied, total, sum.spanCount)];
    } catch (error) {
      if (!(error instanceof SumTooLargeError)) throw error;
      refused.set(each.item, validationFailed(sumTooLarge(error, [])));
      return [];
    }
  });
  if (refused.size > 0) throw new RefusedItems(refused);
  sent.push(updateTraces(tx, updates));
  return totals;
}

const facts = ({ item, id, agentId }: Placed, supplied: Usage, totals: Usage, spanCount: number): TraceFacts => ({
  id,
  traceId: item.traceId,
  agentId,
  agentRank: item.agentRank,
  provisionalAgentName: item.provisionalAgentName,
  outcome: item.outcome,
  outcomeRank: item.outcomeRank,
  isPartial: item.isPartial,
  sessionId: item.sessionId,
  externalUserId: item.externalUserId,
  latencyMs: item.latencyMs,
  hasError: item.hasError,
  startedAt: item.startedAt,
  endedAt: item.endedAt,
  supplied,
  totals,
  spanCount,
});

const submissionNumber = ({ known }: Placed): number => (known?.submissionCount ?? 0) + 1;

const submission = (each: Placed) => ({
  trace: each.id,
  number: submissionNumber(each),
  recordedBy: each.item.recordedBy,
  document: each.item.document,
  spans: each.item.spans,
  export: each.item.export ?? null,
});

/** Totals once supplied stay until supplied again; prompt and completion sent together make a new total, so the kept one ends. */
function mergedUsage(sent: Usage, kept: Usage): Usage {
  const makesTotal = sent.promptTokens !== null && sent.completionTokens !== null;
  return {
    promptTokens: sent.promptTokens ?? kept.promptTokens,
    completionTokens: sent.completionTokens ?? kept.completionTokens,
    totalTokens: sent.totalTokens ?? (makesTotal ? null : kept.totalTokens),
    costUsd: sent.costUsd ?? kept.costUsd,
  };
}

/** Sums as the database gives them; one beyond 2^53-1 throws SumTooLargeError. */
const summedUsage = (sums: SpanSums): Sums => ({
  promptTokens: () => tokens('prompt_tokens', sums.promptTokens),
  completionTokens: () => tokens('completion_tokens', sums.completionTokens),
  totalTokens: () => tokens('total_tokens', sums.totalTokens),
  costUsd: () => (sums.costUsd === null ? null : boundedCost(sums.costUsd)),
});

function tokens(member: SumTooLargeError['member'], text: string | null): number | null {
  if (text === null) return null;
  if (!Number.isSafeInteger(Number(text))) throw new SumTooLargeError(member);
  return Number(text);
}

const accept = ({ item, id }: Placed, totals: Usage): Outcome =>
  answered({
    ok: true,
    id,
    trace_id: item.traceId,
    spans_ingested: item.spanCount,
    tokens: totals.totalTokens,
    cost_usd: totals.costUsd === null ? null : Number(totals.costUsd),
  });
