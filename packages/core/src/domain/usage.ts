import type { Span } from '../contract/trace.ts';
import { decimalSum, plainDecimal } from './decimal.ts';

/** What was used: tokens as whole numbers, cost as an exact decimal in plain notation; null where nobody said. */
export interface Usage {
  promptTokens: number | null;
  completionTokens: number | null;
  totalTokens: number | null;
  costUsd: string | null;
}

/** The four members as they are sent. */
export interface ReportedUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  total_tokens?: number | null;
  cost_usd?: number | null;
}

/** A sum that JSON numbers cannot hold. The caller answers 422 (decisions.md, "Fields"). */
export class SumTooLargeError extends Error {
  override name = 'SumTooLargeError';
  readonly member: 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'cost_usd';
  constructor(member: SumTooLargeError['member']) {
    super(`the sum of ${member} is beyond 2^53-1`);
    this.member = member;
  }
}

/** What one step or event reports; prompt + completion make a total where none is given. */
export function usageOf(reported: ReportedUsage): Usage {
  const promptTokens = reported.prompt_tokens ?? null;
  const completionTokens = reported.completion_tokens ?? null;
  const totalTokens = reported.total_tokens ?? tokenSum('total_tokens', [promptTokens, completionTokens]);
  return {
    promptTokens,
    completionTokens,
    totalTokens,
    costUsd: reported.cost_usd == null ? null : plainDecimal(reported.cost_usd),
  };
}

/**
 * The sums over spans that a trace needs, member by member: null where no span says, and where what was supplied makes the sum needless,
 * which then cannot be too large. Throws SumTooLargeError.
 */
export function usageOfSpans(spans: readonly Span[], supplied: Usage = NOTHING): Usage {
  const sumOf = (member: SumTooLargeError['member'], tokens: (span: Span) => number | null | undefined) =>
    tokenSum(member, spans.map(tokens));
  const costs = supplied.costUsd === null ? spans.flatMap((span) => (span.cost_usd == null ? [] : [span.cost_usd])) : [];
  return {
    promptTokens: supplied.promptTokens === null ? sumOf('prompt_tokens', (span) => span.prompt_tokens) : null,
    completionTokens: supplied.completionTokens === null ? sumOf('completion_tokens', (span) => span.completion_tokens) : null,
    totalTokens: suppliesTotal(supplied) ? null : sumOf('total_tokens', (span) => usageOf(span).totalTokens),
    costUsd: costs.length === 0 ? null : boundedCost(decimalSum(costs)),
  };
}

const NOTHING: Usage = { promptTokens: null, completionTokens: null, totalTokens: null, costUsd: null };

const suppliesTotal = ({ promptTokens, completionTokens, totalTokens }: Usage): boolean =>
  totalTokens !== null || (promptTokens !== null && completionTokens !== null);

/**
 * The totals of a trace: what was supplied at trace level, else the sum over the spans
 * (decisions.md, "Traces"). `prompt_tokens` and `completion_tokens` supplied without a total make one.
 */
export function traceTotals(supplied: Usage, summed: Usage): Usage {
  return {
    promptTokens: supplied.promptTokens ?? summed.promptTokens,
    completionTokens: supplied.completionTokens ?? summed.completionTokens,
    totalTokens: supplied.totalTokens ?? madeTotal(supplied) ?? summed.totalTokens,
    costUsd: supplied.costUsd ?? summed.costUsd,
  };
}

const madeTotal = ({ promptTokens, completionTokens }: Usage): number | null =>
  promptTokens === null || completionTokens === null ? null : tokenSum('total_tokens', [promptTokens, completionTokens]);

/** The four members as supplied at trace level, nothing made of them. */
export const suppliedUsage = (reported: ReportedUsage): Usage => ({
  promptTokens: reported.prompt_tokens ?? null,
  completionTokens: reported.completion_tokens ?? null,
  totalTokens: reported.total_tokens ?? null,
  costUsd: reported.cost_usd == null ? null : plainDecimal(reported.cost_usd),
});

/** A sum of cost as it is; throws when it is beyond what JSON numbers hold. A cost that was supplied is no sum, and has no bound. */
export function boundedCost(sum: string): string {
  if (Number(sum) > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError('cost_usd');
  return sum;
}

/** Sum of what is there; null when nothing is. The first step beyond 2^53-1 throws, so no inexact sum is ever carried on. */
function tokenSum(member: SumTooLargeError['member'], values: readonly (number | null | undefined)[]): number | null {
  let sum: number | null = null;
  for (const value of values) {
    if (value == null) continue;
    sum = (sum ?? 0) + value;
    if (sum > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError(member);
  }
  return sum;
}
