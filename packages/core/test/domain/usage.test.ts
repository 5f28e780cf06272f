import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Span } from '../../src/contract/trace.ts';
import { decimalSum, plainDecimal } from '../../src/domain/decimal.ts';
import { SumTooLargeError, suppliedUsage, traceTotals, usageOf, usageOfSpans } from '../../src/domain/usage.ts';

const span = (usage: object): Span => ({ span_id: 's', kind: 'llm', name: 'n', ...usage });
const MAX = Number.MAX_SAFE_INTEGER;

describe('usage', () => {
  test('costs are added as exact decimals and written without an exponent', () => {
    expect(decimalSum([0.1, 0.2])).toBe('0.3');
    expect(decimalSum([1e-7, 2e-7, 1])).toBe('1.0000003');
    expect(decimalSum([1e21, 1])).toBe('1000000000000000000001');
    expect(plainDecimal(5e-324)).toMatch(/^0\.0{323}5$/);
    expect(plainDecimal(0)).toBe('0');
    expect(plainDecimal(1e3)).toBe('1000');
  });

  test('sums of costs are exact and do not depend on the order', () => {
    expect(decimalSum(Array.from({ length: 10_000 }, () => 0.01))).toBe('100');
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 20 }), (costs) => {
        expect(decimalSum([...costs].reverse())).toBe(decimalSum(costs));
      }),
    );
  });

  test('total_tokens defaults to prompt plus completion tokens, and to null when both are missing', () => {
    expect(usageOf({ prompt_tokens: 5 }).totalTokens).toBe(5);
    expect(usageOf({ prompt_tokens: 5, completion_tokens: 2 }).totalTokens).toBe(7);
    expect(usageOf({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 9 }).totalTokens).toBe(9);
    const sumsOf = (...spans: Span[]) => traceTotals(suppliedUsage({}), usageOfSpans(spans));
    expect(sumsOf(span({}), span({ prompt_tokens: 0 }))).toEqual({
      promptTokens: 0,
      completionTokens: null,
      totalTokens: 0,
      costUsd: null,
    });
    expect(sumsOf()).toEqual({ promptTokens: null, completionTokens: null, totalTokens: null, costUsd: null });
  });

  test('supplied usage replaces sums over spans; supplied prompt and completion tokens also replace the total, but only together', () => {
    const summed = usageOfSpans([span({ prompt_tokens: 10, completion_tokens: 1, cost_usd: 0.5 })]);
    expect(traceTotals(suppliedUsage({}), summed)).toEqual({
      promptTokens: 10,
      completionTokens: 1,
      totalTokens: 11,
      costUsd: '0.5',
    });
    expect(traceTotals(suppliedUsage({ prompt_tokens: 3, completion_tokens: 4 }), summed).totalTokens).toBe(7);
    expect(traceTotals(suppliedUsage({ prompt_tokens: 3 }), summed)).toEqual({
      promptTokens: 3,
      completionTokens: 1,
      totalTokens: 11,
      costUsd: '0.5',
    });
    expect(traceTotals(suppliedUsage({ total_tokens: 99, cost_usd: 0 }), summed)).toMatchObject({
      totalTokens: 99,
      costUsd: '0',
    });
  });

  test('a sum larger than 2^53-1 throws an error that names the member', () => {
    expect(() => usageOf({ prompt_tokens: MAX, completion_tokens: 1 })).toThrow(SumTooLargeError);
    const totals = (...spans: Span[]) => traceTotals(suppliedUsage({}), usageOfSpans(spans));
    expect(() => totals(span({ total_tokens: MAX }), span({ total_tokens: 1 }))).toThrow(/total_tokens/);
    expect(() => totals(span({ cost_usd: MAX }), span({ cost_usd: 1 }))).toThrow(/cost_usd/);
    expect(() => traceTotals(suppliedUsage({ prompt_tokens: MAX, completion_tokens: 1 }), usageOfSpans([]))).toThrow(
      /total_tokens/,
    );
    expect(totals(span({ total_tokens: MAX })).totalTokens).toBe(MAX);
  });

  test('supplied totals are used as they are, and sums that they replace are not computed', () => {
    const maximumUsage = { prompt_tokens: MAX, completion_tokens: MAX, total_tokens: MAX, cost_usd: MAX };
    const sums = usageOfSpans([span(maximumUsage), span(maximumUsage)]);
    const supplied = suppliedUsage({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost_usd: 1e300 });
    expect(traceTotals(supplied, sums)).toEqual(supplied);
    expect(() => traceTotals(suppliedUsage({ prompt_tokens: 1, completion_tokens: 2 }), sums)).toThrow(/cost_usd/);
    expect(() => traceTotals({ ...supplied, promptTokens: null }, sums)).toThrow(/prompt_tokens/);
    const usageWithTotal = { prompt_tokens: MAX, completion_tokens: 5, total_tokens: 7 };
    expect(traceTotals(suppliedUsage(usageWithTotal), usageOfSpans([])).totalTokens).toBe(7);
  });
});
