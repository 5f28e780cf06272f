import type { Issue } from '../wire/contract.ts';

/** Every error of this library. `name` is stable, also where a module was loaded twice and `instanceof` says no. */
export class CountersignError extends Error {
  override name = 'CountersignError';
  /** How often the request was sent before this was given up; 0 when it never was. */
  attempts = 0;
}

/** What was given to the client cannot work: an option, a key, a browser, a body that is no JSON. Nothing was sent. */
export class ConfigurationError extends CountersignError {
  override name = 'ConfigurationError';
}

/** No answer came: the address is wrong, the connection broke, the answer was cut off. `cause` says more. Whether it was stored is not known. */
export class ConnectionError extends CountersignError {
  override name = 'ConnectionError';
}

/** No answer came in time. Whether it was stored is not known. */
export class TimeoutError extends CountersignError {
  override name = 'TimeoutError';
}

/** An answer came that is none of this service: a redirect, a page, JSON of another form. Something else stands at the address, or in between. */
export class UnexpectedAnswerError extends CountersignError {
  override name = 'UnexpectedAnswerError';
  /** HTTP status of that answer. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** What an answer with an error status says. */
export interface Refusal {
  /** HTTP status. */
  status: number;
  /** Stable code of the error table; undefined when the answer came from something in between, a proxy for example. */
  code: string | undefined;
  /** Names the request in the service's log; undefined when the answer does not bear one. */
  requestId: string | undefined;
  /** What is wrong and where; empty when there is nothing to point at. */
  issues: Issue[];
  /** Milliseconds that the service asks to wait (`Retry-After`); undefined when it does not. */
  retryAfterMs: number | undefined;
  /** The scope that the key lacks, where that is why it was refused. */
  missingScope?: string | undefined;
}

/** The service refused. There is a class for each status; one without a class of its own is this one. */
export class ApiError extends CountersignError implements Refusal {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly issues: Issue[];
  readonly retryAfterMs: number | undefined;

  constructor(refusal: Refusal) {
    super(sentenceOf(refusal));
    this.status = refusal.status;
    this.code = refusal.code;
    this.requestId = refusal.requestId;
    this.issues = refusal.issues;
    this.retryAfterMs = refusal.retryAfterMs;
  }
}

/** 400: what arrived was not HTTP that can be read. */
export class BadRequestError extends ApiError {
  override name = 'BadRequestError';
}
/** 401: the key is unknown, revoked or expired (`unauthorized`), or lacks a scope (`insufficient_scope`). */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError';
  /** The scope that the key lacks; undefined when the key itself is not good. */
  readonly missingScope: string | undefined;

  constructor(refusal: Refusal) {
    super(refusal);
    this.missingScope = refusal.missingScope;
  }
}
/** 404: there is nothing at this path; the base address is probably not that of the service. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError';
}
/** 405: the path takes another method. */
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
/** 415: the body is not what the endpoint takes. */
export class UnsupportedMediaTypeError extends ApiError {
  override name = 'UnsupportedMediaTypeError';
}
/** 421: the server does not answer for this host; its log names it, and `COUNTERSIGN_ALLOWED_HOSTS` of the server admits it. */
export class MisdirectedRequestError extends ApiError {
  override name = 'MisdirectedRequestError';
}
/** 422: the body breaks the contract, or the Idempotency-Key was used with another one. `issues` says what and where. */
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
/** 500: a fault of the service. Nothing was stored. */
export class InternalServerError extends ApiError {
  override name = 'InternalServerError';
}
/** 502: something in front of the service did not reach it. */
export class BadGatewayError extends ApiError {
  override name = 'BadGatewayError';
}
/** 503: the service is full, stopping, or its database is away. */
export class UnavailableError extends ApiError {
  override name = 'UnavailableError';
}
/** 504: something in front of the service did not hear from it in time. */
export class GatewayTimeoutError extends ApiError {
  override name = 'GatewayTimeoutError';
}

const CLASS_OF_STATUS: Record<number, new (refusal: Refusal) => ApiError> = {
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

/** @internal The error of a status. */
export function apiError(refusal: Refusal): ApiError {
  const Class = CLASS_OF_STATUS[refusal.status] ?? ApiError;
  return new Class(refusal);
}

/** Issues that a message shows; all of them are in `issues`. */
const ISSUES_SHOWN = 3;

/** What the person who reads a 401 has to do. */
function keyFault({ code, missingScope }: Refusal): string | undefined {
  if (code === 'unauthorized')
    return 'unknown or revoked key: mint a new one under Administration, Ingestion keys, and check that it is of this service';
  if (code !== 'insufficient_scope' || missingScope === undefined) return undefined;
  return `missing scope ${missingScope}: the key is good but lacks it; change its scopes under Administration, Ingestion keys`;
}

function sentenceOf(refusal: Refusal): string {
  const { status, code, requestId, issues } = refusal;
  const fault = status === 401 ? keyFault(refusal) : undefined;
  if (fault !== undefined) return `401 ${code}: ${fault}${requestId === undefined ? '' : ` (request ${requestId})`}`;
  const shown = issues.slice(0, ISSUES_SHOWN).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (issues.length > ISSUES_SHOWN) shown.push(`and ${issues.length - ISSUES_SHOWN} more`);
  const what = code ?? 'answered by something that is not the service';
  const said = shown.length === 0 ? '' : `: ${shown.join('; ')}`;
  return `${status} ${what}${said}${requestId === undefined ? '' : ` (request ${requestId})`}`;
}
