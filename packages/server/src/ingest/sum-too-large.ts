import type { Issue } from '@countersign/core/contract/issue';
import { ISSUES_MAX, jsonPointer } from '@countersign/core/contract/json-pointer';
import { SumTooLargeError } from '@countersign/core/domain/usage';
import { validationFailed } from '../errors/api-error.ts';

type Steps = readonly (string | number)[];

/** The issue of a record with a sum above 2^53-1. @param at the path of the record in the body. */
export const sumTooLarge = (error: SumTooLargeError, at: Steps): Issue => ({
  path: jsonPointer([...at, error.member]),
  code: 'sum_too_large',
  message: `${error.message}; send smaller amounts`,
});

/**
 * Calls `make` for each record and returns the results. If `make` throws SumTooLargeError, throws 422 with the issues of up to ISSUES_MAX
 * records.
 * @param pathOf returns the path of a record in the body.
 */
export function withSums<R, F>(
  records: readonly R[],
  make: (record: R, index: number) => F,
  pathOf: (index: number) => Steps,
): F[] {
  const issues: Issue[] = [];
  const results: F[] = [];
  for (const [index, record] of records.entries()) {
    try {
      results.push(make(record, index));
    } catch (error) {
      if (!(error instanceof SumTooLargeError)) throw error;
      issues.push(sumTooLarge(error, pathOf(index)));
    }
  }
  if (issues.length > 0) throw validationFailed(...issues.slice(0, ISSUES_MAX));
  return results;
}
