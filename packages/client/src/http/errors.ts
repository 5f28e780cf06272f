import type { Issue } from '../wire/contract.ts';

/** The base of all errors of this library. If this library is loaded twice, `instanceof` can fail: compare `name`, which is stable. */
export class CountersignError extends Error {
  override name = 'CountersignError';
  /** The number of attempts, including those that failed before their request was sent. 0 if there was no attempt. */
  attempts = 0;
}

/**
 * An invalid option, argument, key, runtime or body. Nothing was sent, unless `apiKey()` returned a valid key for an earlier attempt of
 * the same call.
 */
export class ConfigurationError extends CountersignError {
  override name = 'ConfigurationError';
}

/**
 * There was no complete response: wrong address, broken connection, or an error of `apiKey()`. `cause` is the underlying error, if any. The
 * request may have been stored.
 */
export class ConnectionError extends CountersignError {
  override name = 'ConnectionError';
}

/** There was no response in time. The request may have been stored. */
export class TimeoutError extends CountersignError {
  override name = 'TimeoutError';
}

/** The response is not from this service: a redirect, another status below 400, HTML, or other JSON. Check the address and any proxy. */
export class UnexpectedAnswerError extends CountersignError {
  override name = 'UnexpectedAnswerError';
  /** HTTP status of the response. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A response with an error status. */
export interface ErrorResponse {
  /** HTTP status. */
  status: number;
  /** Stable code of the error table; undefined if the response came from a proxy, for example. */
  code: string | undefined;
  /** Identifies the request in the service's log; undefined if the response has no ID. */
  requestId: string | undefined;
  /** What is wrong and where; may be empty. */
  issues: Issue[];
  /** The wait in milliseconds that the service asks for (`Retry-After`). */
  retryAfterMs: number | undefined;
  /** The scope that the key lacks; undefined if the error has another reason. */
  missingScope?: string | undefined;
}

/** The service, or a proxy in front of it, responded with an error status. Most statuses have a subclass. */
export class ApiError extends CountersignError implements ErrorResponse {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly issues: Issue[];
  readonly retryAfterMs: number | undefined;

  constructor(response: ErrorResponse) {
    super(sentenceOf(response));
    this.status = response.status;
    this.code = response.code;
    this.requestId = response.requestId;
    this.issues = response.issues;
    this.retryAfterMs = response.retryAfterMs;
  }
}

/** 400: the request is not valid HTTP, or does not name exactly one host. */
export class BadRequestError extends ApiError {
  override name = 'BadRequestError';
}
/** 401: the key is unknown, revoked or expired (`unauthorized`), or lacks a scope (`insufficient_scope`). */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
  /** The scope that the key lacks; undefined if the key itself is not valid. */
  readonly missingScope: string | undefined;

  constructor(response: ErrorResponse) {
    super(response);
    this.missingScope = response.missingScope;
  }
}
/** 404: there is nothing at this path; check the base address. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 405: the path does not accept this method. */
export class MethodNotAllowedError extends ApiError {
  override name = 'MethodNotAllowedError';
}
/** 408: the request did not arrive in time. */
export class RequestTimeoutError extends ApiError {
  override name = 'RequestTimeoutError';
}
/** 413: the body is larger than the limit of the endpoint; the issue names the limit. */
export class PayloadTooLargeError extends ApiError {
  override name = 'PayloadTooLargeError';
}
/** 415: the endpoint does not accept this media type. */
export class UnsupportedMediaTypeError extends ApiError {
  override name = 'UnsupportedMediaTypeError';
}
/** 421: the server does not accept the host of the request. Add the host to `COUNTERSIGN_ALLOWED_HOSTS` of the server. */
export class MisdirectedRequestError extends ApiError {
  override name = 'MisdirectedRequestError';
}
/** 422: the body or a header is invalid, or the Idempotency-Key was used with another body. `issues` lists the errors. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
}
/** 429: too many requests with this key. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError';
}
/** 431: the request headers are too large. */
export class HeadersTooLargeError extends ApiError {
  override name = 'HeadersTooLargeError';
}
/** 500: an internal error of the service, or changed data in its database (`log_rewritten`, `seal_broken`). Nothing was stored. */
export class InternalServerError extends ApiError {
  override name = 'InternalServerError';
}
/** 502: a proxy could not reach the service. */
export class BadGatewayError extends ApiError {
  override name = 'BadGatewayError';
}
/** 503: the service is overloaded or stopping, cannot use its database, disk or clock, or found changed data (`evidence_broken`). */
export class UnavailableError extends ApiError {
  override name = 'UnavailableError';
}
/** 504: a proxy got no response from the service in time. */
export class GatewayTimeoutError extends ApiError {
  override name = 'GatewayTimeoutError';
}

const CLASS_OF_STATUS: Record<number, new (response: ErrorResponse) => ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  404: NotFoundError,
  405: MethodNotAllowedError,
  408: RequestTimeoutError,
  413: PayloadTooLargeError,
  415: UnsupportedMediaTypeError,
  421: MisdirectedRequestError,
  422: ValidationError,
  429: RateLimitedError,
  431: HeadersTooLargeError,
  500: InternalServerError,
  502: BadGatewayError,
  503: UnavailableError,
  504: GatewayTimeoutError,
};

/** @internal The error for a response with an error status. */
export function apiError(response: ErrorResponse): ApiError {
  const Class = CLASS_OF_STATUS[response.status] ?? ApiError;
  return new Class(response);
}

/** The maximum number of issues in a message; `issues` has all of them. */
const ISSUES_SHOWN_MAX = 3;

/** What is wrong with the key after a 401, and what to do; undefined for other codes. */
function keyFault({ code, missingScope }: ErrorResponse): string | undefined {
  if (code === 'unauthorized')
    return 'unknown, revoked or expired key: mint a new one under Administration, Ingestion keys, and check the address of the service';
  if (code !== 'insufficient_scope' || missingScope === undefined) return undefined;
  return `missing scope ${missingScope}: add it to the key under Administration, Ingestion keys`;
}

function sentenceOf(response: ErrorResponse): string {
  const { status, code, requestId, issues } = response;
  const fault = status === 401 ? keyFault(response) : undefined;
  if (fault !== undefined) return `401 ${code}: ${fault}${requestId === undefined ? '' : ` (request ${requestId})`}`;
  const issueTexts = issues
    .slice(0, ISSUES_SHOWN_MAX)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (issues.length > ISSUES_SHOWN_MAX) issueTexts.push(`and ${issues.length - ISSUES_SHOWN_MAX} more`);
  const what = code ?? 'the response is not from Countersign';
  const issueText = issueTexts.length === 0 ? '' : `: ${issueTexts.join('; ')}`;
  return `${status} ${what}${issueText}${requestId === undefined ? '' : ` (request ${requestId})`}`;
}
