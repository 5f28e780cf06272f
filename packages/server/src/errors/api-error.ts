import { ERRORS, type ErrorBody, type ErrorCode } from '@countersign/core/contract/errors';
import type { Issue } from '@countersign/core/contract/issue';

/** An answer from the error table. Whoever throws it names the code; status and body follow from the table. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly issues: Issue[];
  /** Extra response headers, for example Retry-After. */
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, issues: Issue[] = [], headers: Record<string, string> = {}) {
    super(issues[0] === undefined ? code : `${code}: ${issues[0].path} ${issues[0].message}`);
    this.code = code;
    this.issues = issues;
    this.headers = headers;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get body(): ErrorBody {
    return { error: this.code, issues: this.issues };
  }
}

/** The service cannot take this now: full, stopping, or its database away. The cause is for the log alone. */
export function unavailable(cause: unknown): ApiError {
  const error = new ApiError('unavailable', [], { 'Retry-After': '1' });
  error.cause = cause;
  return error;
}

/** The body breaks the contract. */
export const validationFailed = (...issues: Issue[]): ApiError => new ApiError('validation_failed', issues);
