import { RowsNotStoredError } from '../database/stored-rows.ts';
import { ApiError, unavailable, validationFailed } from '../errors/api-error.ts';
import { NotFoundError, RuleViolationError } from '../workspace/rule-violation.ts';
import { InvalidInputError } from '../workspace/wrong-input.ts';

/** Maps the errors of acts to errors of the portal's API. The command line runs the same acts. Returns other errors unchanged. */
export function asPortalError(error: unknown): unknown {
  if (error instanceof NotFoundError) return new ApiError('not_found');
  if (error instanceof RuleViolationError)
    return new ApiError('refused', [{ path: '', code: 'refused', message: error.message }]);
  if (error instanceof InvalidInputError) return validationFailed({ path: '', code: error.code, message: error.message });
  if (error instanceof RowsNotStoredError) return unavailable(error);
  return error;
}
