import { type Static, Type } from 'typebox';
import { Issue } from './issue.ts';
import { label } from './scalars.ts';

/**
 * Every error the service answers: stable code -> HTTP status and when (specification 7, decisions.md).
 * docs/errors.md is tested against this table both ways.
 */
export const ERRORS = {
  invalid_export: {
    status: 400,
    when: 'OpenTelemetry: the body is no OTLP export that can be read, or it holds too much. Sending it again does not help.',
  },
  unauthorized: {
    status: 401,
    when: 'The key is missing, malformed, unknown, revoked, expired, or its secret is wrong: one and the same answer.',
  },
  insufficient_scope: { status: 401, when: 'The key is good, but the scope that the endpoint needs is missing.' },
  not_signed_in: { status: 401, when: 'Portal: there is no session, or it has ended.' },
  sign_in_failed: {
    status: 401,
    when: 'Portal: the e-mail address and the password do not belong together, whether or not there is such an account.',
  },
  forbidden: { status: 403, when: "Portal: the person's role in the workspace does not allow this." },
  cross_origin: {
    status: 403,
    when: 'Portal: a change was asked for by a page of another origin, or by no page (Origin, Sec-Fetch-Site).',
  },
  not_found: { status: 404, when: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, when: 'The path takes another method; `Allow` names it.' },
  refused: { status: 409, when: 'Portal: the rules or the state of the workspace refuse the act; the issue says why.' },
  link_not_valid: {
    status: 410,
    when: 'Portal: the one-time link is unknown, was used or withdrawn, or has expired: one and the same answer.',
  },
  payload_too_large: {
    status: 413,
    when: 'The body, decompressed, is larger than the limit of the endpoint, or expands more than 300 times.',
  },
  unsupported_media_type: {
    status: 415,
    when: 'The body has another media type than the endpoint takes, or is compressed in a way other than gzip or deflate.',
  },
  invalid_json: { status: 422, when: 'The body is not JSON (empty, cut off, not UTF-8).' },
  validation_failed: {
    status: 422,
    when: 'The body is JSON and breaks the contract; `issues` lists all that is wrong, up to 100.',
  },
  idempotency_key_reused: { status: 422, when: 'The Idempotency-Key was used with another body within 24 hours.' },
  rate_limited: {
    status: 429,
    when: 'The key sent more requests in this minute than are configured, or there were too many tries to sign in; `Retry-After` says when to try again.',
  },
  bad_request: { status: 400, when: 'What arrived is not HTTP that can be read, or names no host or more than one.' },
  wrong_host: { status: 421, when: 'The request is addressed to a host that this server does not answer for.' },
  request_timeout: { status: 408, when: 'The request did not arrive in time.' },
  headers_too_large: { status: 431, when: 'The request headers are larger than 16 KiB, or more than 1,000.' },
  internal_error: { status: 500, when: 'A fault of the service; the request id finds it in the log. Nothing was stored.' },
  log_rewritten: {
    status: 500,
    when: 'What is stored of a log is not what was appended and signed before, or a stored document was changed. Nothing more is signed or proved of it; `ledger verify` names the place.',
  },
  seal_broken: {
    status: 500,
    when: 'A row that the request relies on was changed in the database by somebody else than the server. Nothing was stored; the log names the row.',
  },
  evidence_broken: {
    status: 503,
    when: 'A row that the request relies on differs from the log of evidence: the database was changed by somebody else than the server. Nothing was stored; the log names the row.',
  },
  unavailable: {
    status: 503,
    when: 'The service is full, stopping, or its database is away, or its disk is nearly full; `Retry-After` says when to try again.',
  },
  clock_unsafe: {
    status: 503,
    when: 'A clock jumped, or the clocks of server and database differ: no moment can be recorded. Nothing was stored; `Retry-After` says when to try again.',
  },
} as const;
export type ErrorCode = keyof typeof ERRORS;

/** Every error body (specification 2.9). */
export const ErrorBody = Type.Object(
  {
    error: label({ description: 'Stable code from the error table.', examples: ['validation_failed'] }),
    issues: Type.Unsafe<Issue[]>({
      type: 'array',
      items: Issue,
      description: 'What is wrong and where; empty when there is nothing to point at.',
    }),
  },
  { $id: 'Error', description: 'Every error body.' },
);
export type ErrorBody = Static<typeof ErrorBody>;
