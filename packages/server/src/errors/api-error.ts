import { ERRORS, type ErrorBody, type ErrorCode } from '@countersign/core/contract/errors';
import type { Issue } from '@countersign/core/contract/issue';

/** An error of the API. Its code determines the status (the table of errors). The body has the code and the issues. */
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

/** The service cannot complete a request now, for example because a queue is full or the database is unreachable. Logs name the cause. */
export function unavailable(cause: unknown): ApiError {
  const error = new ApiError('unavailable', [], { 'Retry-After': '1' });
  error.cause = cause;
  return error;
}

/** The body, a header or a query parameter is not valid. For example, the body does not match its schema, or names an unknown agent. */
export const validationFailed = (...issues: Issue[]): ApiError => new ApiError('validation_failed', issues);
