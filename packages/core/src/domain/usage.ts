import { decimalSum, plainDecimal } from './decimal.ts';

/** Tokens as whole numbers, cost as an exact decimal in plain notation; null if not reported. */
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

/** A sum is larger than 2^53-1. The caller responds with 422 (docs/errors.md). */
export class SumTooLargeError extends Error {
  override name = 'SumTooLargeError';
  readonly member: 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'cost_usd';
  constructor(member: SumTooLargeError['member']) {
    super(`the sum of ${member} is beyond 2^53-1`);
    this.member = member;
  }
}

/**
 * The usage that one step or event reports. Without a total, the total is the sum of those of prompt and completion tokens that are
 * reported; null if neither is.
 * @throws SumTooLargeError
 */
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

/** Sums over a trace's spans, computed on request. If a total was supplied, the sum is not computed and cannot throw. */
export type Sums = { readonly [Member in keyof Usage]: () => Usage[Member] };

/** The sums over spans; null if no span reports the value. Each may throw SumTooLargeError. */
export const usageOfSpans = (spans: readonly ReportedUsage[]): Sums => ({
  promptTokens: () =>
    tokenSum(
      'prompt_tokens',
      spans.map((span) => span.prompt_tokens),
    ),
  completionTokens: () =>
    tokenSum(
      'completion_tokens',
      spans.map((span) => span.completion_tokens),
    ),
  totalTokens: () =>
    tokenSum(
      'total_tokens',
      spans.map((span) => usageOf(span).totalTokens),
    ),
  costUsd: () => {
    const costs = spans.flatMap((span) => (span.cost_usd == null ? [] : [span.cost_usd]));
    return costs.length === 0 ? null : boundedCost(decimalSum(costs));
  },
});

/**
 * The totals of a trace: the values supplied at trace level, else the sums over the spans. If `prompt_tokens` and `completion_tokens` are
 * supplied, but no `total_tokens`, the total is their sum.
 */
export const traceTotals = (supplied: Usage, sums: Sums): Usage => ({
  promptTokens: supplied.promptTokens ?? sums.promptTokens(),
  completionTokens: supplied.completionTokens ?? sums.completionTokens(),
  totalTokens: supplied.totalTokens ?? derivedTotal(supplied) ?? sums.totalTokens(),
  costUsd: supplied.costUsd ?? sums.costUsd(),
});

const derivedTotal = ({ promptTokens, completionTokens }: Usage): number | null =>
  promptTokens === null || completionTokens === null ? null : tokenSum('total_tokens', [promptTokens, completionTokens]);

/** The four members as supplied at trace level, without derived values. */
export const suppliedUsage = (reported: ReportedUsage): Usage => ({
  promptTokens: reported.prompt_tokens ?? null,
  completionTokens: reported.completion_tokens ?? null,
  totalTokens: reported.total_tokens ?? null,
  costUsd: reported.cost_usd == null ? null : plainDecimal(reported.cost_usd),
});

/** Merges newly supplied usage into the earlier one. New prompt and completion tokens without a total remove the earlier total. */
export function mergedUsage(sent: Usage, kept: Usage): Usage {
  const derivesTotal = sent.promptTokens !== null && sent.completionTokens !== null;
  return {
    promptTokens: sent.promptTokens ?? kept.promptTokens,
    completionTokens: sent.completionTokens ?? kept.completionTokens,
    totalTokens: sent.totalTokens ?? (derivesTotal ? null : kept.totalTokens),
    costUsd: sent.costUsd ?? kept.costUsd,
  };
}

/** Returns a sum of costs; throws SumTooLargeError if it is larger than 2^53-1. A supplied cost is not a sum and has no limit. */
export function boundedCost(sum: string): string {
  if (Number(sum) > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError('cost_usd');
  return sum;
}

/** The sum of the reported values; null if there are none. Throws SumTooLargeError beyond 2^53-1, where sums are inexact. */
function tokenSum(member: SumTooLargeError['member'], values: readonly (number | null | undefined)[]): number | null {
  let sum: number | null = null;
  for (const value of values) {
    if (value == null) continue;
    sum = (sum ?? 0) + value;
    if (sum > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError(member);
  }
  return sum;
}
