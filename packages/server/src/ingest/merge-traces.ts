import { boundedCost, mergeUsage, type Sums, SumTooLargeError, traceTotals, type Usage } from '@countersign/core/domain/usage';
import { type Item, RejectedItemsError } from '../database/batch-writer.ts';
import type { Transaction } from '../database/transaction.ts';
import { type ApiError, validationFailed } from '../errors/api-error.ts';
import { mergeSpans, type SpanSums } from '../storage/merged-spans.ts';
import { type KnownTrace, type TraceFacts, updateTraces } from '../storage/traces.ts';
import type { PreparedTrace } from './prepared-trace.ts';
import type { NewAgent } from './register-agents.ts';
import { sumTooLarge } from './sum-too-large.ts';

/** A request and its trace: a new one, or a known one that is locked. */
export interface ResolvedTrace {
  item: PreparedTrace;
  id: string;
  agentId: string | null;
  /** The agents that the request registers: one or none. */
  registered: readonly NewAgent[];
  known: KnownTrace | undefined;
  /** The totals of a new trace; undefined for a known one, whose totals are merged. */
  totals: Usage | undefined;
}

/**
 * Merges spans into known traces and returns the totals by the IDs of the traces. Call it after `insertTraceSubmissions`.
 * @throws RejectedItemsError with the requests that would make a sum of their trace too large.
 */
export async function mergeTraces(
  tx: Transaction,
  receivedAt: string,
  traces: readonly ResolvedTrace[],
): Promise<Map<string, Usage>> {
  if (traces.length === 0) return new Map();
  const submissions = traces.map((each) => ({ trace: each.id, number: submissionNumber(each) }));
  const sums = new Map((await mergeSpans(tx, submissions)).map((row) => [row.trace, row]));
  const totals = new Map<string, Usage>();
  const rejections = new Map<Item, ApiError>();
  const updates = traces.flatMap((each) => {
    const supplied = mergeUsage(each.item.supplied, each.known!.supplied);
    try {
      const sum = sums.get(each.id)!;
      const total = traceTotals(supplied, summedUsage(sum));
      totals.set(each.id, total);
      return [factsOf(each, supplied, total, sum.spanCount)];
    } catch (error) {
      if (!(error instanceof SumTooLargeError)) throw error;
      rejections.set(each.item, validationFailed(sumTooLarge(error, [])));
      return [];
    }
  });
  if (rejections.size > 0) throw new RejectedItemsError(rejections);
  updateTraces(tx, receivedAt, updates);
  return totals;
}

/** The values for the columns of a trace. */
export const factsOf = ({ item, id, agentId }: ResolvedTrace, supplied: Usage, totals: Usage, spanCount: number): TraceFacts => ({
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

/** The number of a request among the submissions of its trace. */
export const submissionNumber = ({ known }: ResolvedTrace): number => (known?.submissionCount ?? 0) + 1;

/** The sums from the database, as functions. They throw SumTooLargeError for a sum that is too large. */
const summedUsage = (sums: SpanSums): Sums => ({
  promptTokens: () => tokenSum('prompt_tokens', sums.promptTokens),
  completionTokens: () => tokenSum('completion_tokens', sums.completionTokens),
  totalTokens: () => tokenSum('total_tokens', sums.totalTokens),
  costUsd: () => (sums.costUsd === null ? null : boundedCost(sums.costUsd)),
});

function tokenSum(member: SumTooLargeError['member'], text: string | null): number | null {
  if (text === null) return null;
  if (!Number.isSafeInteger(Number(text))) throw new SumTooLargeError(member);
  return Number(text);
}
