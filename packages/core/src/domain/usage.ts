import { decimalSum, plainDecimal } from './decimal.ts';

/** Tokens as whole numbers, cost in US dollars as an exact decimal in plain notation; null if not reported. */
export interface Usage {
  promptTokens: number | null;
  completionTokens: number | null;
  totalTokens: number | null;
  costUsd: string | null;
}

/** The usage members of a span, a trace or an event, as they are sent. */
export interface ReportedUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  total_tokens?: number | null;
  cost_usd?: number | null;
}

/** A sum is larger than 2^53-1. The server rejects the request with the issue `sum_too_large`. */
export class SumTooLargeError extends Error {
  override name = 'SumTooLargeError';
  readonly member: 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'cost_usd';
  constructor(member: SumTooLargeError['member']) {
    super(`the sum of ${member} is beyond 2^53-1`);
    this.member = member;
  }
}

/**
 * Returns the usage that one span or event reports. Without `total_tokens`, the total is the sum of the reported prompt and completion
 * tokens; null if neither is reported.
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

/** Functions that compute the sums over a trace's spans. So a sum that is not needed is not computed and cannot throw. */
export type Sums = { readonly [Member in keyof Usage]: () => Usage[Member] };

/** Returns the sums over spans. A sum is null if no span reports the value. Each function can throw SumTooLargeError. */
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
 * Returns the totals of a trace: the values supplied at trace level, else the sums over the spans. If `prompt_tokens` and
 * `completion_tokens` are supplied, but no `total_tokens`, the total is their sum.
 * @throws SumTooLargeError
 */
export const traceTotals = (supplied: Usage, sums: Sums): Usage => ({
  promptTokens: supplied.promptTokens ?? sums.promptTokens(),
  completionTokens: supplied.completionTokens ?? sums.completionTokens(),
  totalTokens: supplied.totalTokens ?? derivedTotal(supplied) ?? sums.totalTokens(),
  costUsd: supplied.costUsd ?? sums.costUsd(),
});

/** The sum of the supplied prompt and completion tokens; null unless both are supplied. */
const derivedTotal = ({ promptTokens, completionTokens }: Usage): number | null =>
  promptTokens === null || completionTokens === null ? null : tokenSum('total_tokens', [promptTokens, completionTokens]);

/** Returns the usage that a trace supplies at trace level, without derived values. */
export const suppliedUsage = (reported: ReportedUsage): Usage => ({
  promptTokens: reported.prompt_tokens ?? null,
  completionTokens: reported.completion_tokens ?? null,
  totalTokens: reported.total_tokens ?? null,
  costUsd: reported.cost_usd == null ? null : plainDecimal(reported.cost_usd),
});

/**
 * Merges newly supplied usage into the earlier usage. If the new usage has prompt and completion tokens, but no total, the earlier total is
 * removed.
 */
export function mergeUsage(newUsage: Usage, earlier: Usage): Usage {
  const derivesTotal = newUsage.promptTokens !== null && newUsage.completionTokens !== null;
  return {
    promptTokens: newUsage.promptTokens ?? earlier.promptTokens,
    completionTokens: newUsage.completionTokens ?? earlier.completionTokens,
    totalTokens: newUsage.totalTokens ?? (derivesTotal ? null : earlier.totalTokens),
    costUsd: newUsage.costUsd ?? earlier.costUsd,
  };
}

/** Returns a sum of costs. Throws SumTooLargeError if it is larger than 2^53-1. A supplied cost is not a sum, so it has no limit. */
export function boundedCost(sum: string): string {
  if (Number(sum) > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError('cost_usd');
  return sum;
}

/** The sum of the reported values; null if there are none. Throws SumTooLargeError above 2^53-1, where sums can be inexact. */
function tokenSum(member: SumTooLargeError['member'], values: readonly (number | null | undefined)[]): number | null {
  let sum: number | null = null;
  for (const value of values) {
    if (value == null) continue;
    sum = (sum ?? 0) + value;
    if (sum > Number.MAX_SAFE_INTEGER) throw new SumTooLargeError(member);
  }
  return sum;
}
