import type { Issue } from '@countersign/core/contract/issue';
import { jsonPointer } from '@countersign/core/contract/json-pointer';
import type { SumTooLargeError } from '@countersign/core/domain/usage';

/** The issue of a sum that JSON numbers cannot hold. */
export const sumTooLarge = (error: SumTooLargeError, at: readonly (string | number)[]): Issue => ({
  path: jsonPointer([...at, error.member]),
  code: 'sum_too_large',
  message: `${error.message}; send smaller amounts`,
});
