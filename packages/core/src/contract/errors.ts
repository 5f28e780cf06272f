import { type Static, Type } from 'typebox';
import { Issue } from './issue.ts';
import { label } from './scalars.ts';

/** Every error that the service returns: its stable code, HTTP status and cause. A test compares docs/errors.md with this table. */
export const ERRORS = {
  invalid_export: {
    status: 400,
    when: 'OpenTelemetry: the body is not a valid OTLP export, or it exceeds a limit. Do not send it again.',
  },
  unauthorized: {
    status: 401,
    when: 'The key is missing, malformed, unknown, revoked or expired, or its secret is wrong. The response does not say which.',
  },
  insufficient_scope: { status: 401, when: 'The key is valid, but it does not have the scope that the endpoint needs.' },
  not_signed_in: { status: 401, when: 'Portal: the request has no session, or the session has ended.' },
  sign_in_failed: {
    status: 401,
    when: 'Portal: the email address or the password is wrong. The response does not say whether the account exists.',
  },
  forbidden: { status: 403, when: "Portal: the person's role in the workspace does not allow the request." },
  cross_origin: {
    status: 403,
    when: 'Portal: the request would change something, but was not sent by a page of the portal (`Origin`, `Sec-Fetch-Site`).',
  },
  not_found: {
    status: 404,
    when: 'The path does not exist, or the workspace has no such record. Portal: also if the person is not a member of the workspace.',
  },
  method_not_allowed: {
    status: 405,
    when: 'The path does not accept this method. `Allow` lists the accepted ones. Pages of the portal return 404 instead, because the server does not know their paths.',
  },
  refused: {
    status: 409,
    when: 'Portal: the rules or the state of the workspace do not allow the action, or another person has signed in with this browser. The issue says why.',
  },
  link_not_valid: {
    status: 410,
    when: 'Portal: the one-time link is unknown, used, withdrawn or expired. The response does not say which.',
  },
  payload_too_large: {
    status: 413,
    when: 'The decompressed body is larger than the limit of the endpoint, or larger than 1 MiB and more than 300 times its compressed size.',
  },
  unsupported_media_type: {
    status: 415,
    when: 'The endpoint does not accept the media type, the charset is not UTF-8, or the compression is neither gzip nor deflate.',
  },
  invalid_json: {
    status: 422,
    when: 'The body is not valid JSON in UTF-8, or cannot be decompressed. It may be empty or cut off.',
  },
  validation_failed: {
    status: 422,
    when: 'The body is JSON but does not match the contract, or a header or query parameter is not valid. `issues` lists up to 100 errors. The checks run in this order: nesting, the schema, then rules that need the database.',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'In the last 24 hours, an accepted request used this `Idempotency-Key` with another body.',
  },
  rate_limited: {
    status: 429,
    when: 'The key sent more requests in this minute than the configured limit, or there were too many attempts to sign in. `Retry-After` says when to retry.',
  },
  bad_request: { status: 400, when: 'The request is not valid HTTP, or does not name exactly one host.' },
  wrong_host: { status: 421, when: 'The server does not serve the host that the request names.' },
  request_timeout: { status: 408, when: 'The request was not complete in time.' },
  headers_too_large: { status: 431, when: 'The request headers are larger than 16 KiB, or there are more than 1,000.' },
  internal_error: {
    status: 500,
    when: "An error in the server. Nothing was stored. The server's log has it under the request ID.",
  },
  log_rewritten: {
    status: 500,
    when: 'A stored log differs from what the server signed earlier, or a stored document was changed. Nothing was stored, signed or proven. `ledger verify` reports the difference.',
  },
  seal_broken: {
    status: 500,
    when: "A row that the request needs was changed or deleted in the database, but not by the server. Nothing was stored. The server's log names the row.",
  },
  evidence_broken: {
    status: 503,
    when: "A row that the request needs differs from the evidence log: it was changed, but not by the server. Nothing was stored. The server's log names the row.",
  },
  unavailable: {
    status: 503,
    when: 'The server is at its limit or stopping, its database or its memory folder cannot be used, or its disk is nearly full. `Retry-After` says when to retry.',
  },
  clock_unsafe: {
    status: 503,
    when: 'A clock jumped or is behind the last row of a log, or the clocks of the server and the database differ, so the server cannot record a time. Nothing was stored. `Retry-After` says when to retry.',
  },
} as const;
export type ErrorCode = keyof typeof ERRORS;

/** The body of every error response. */
export const ErrorBody = Type.Object(
  {
    error: label({ description: 'Stable code from the error table.', examples: ['validation_failed'] }),
    issues: Type.Unsafe<Issue[]>({
      type: 'array',
      items: Issue,
      description: 'What is wrong, where, and the remedy. Empty if the code is enough.',
    }),
  },
  { $id: 'Error', description: 'The body of every error response.' },
);
export type ErrorBody = Static<typeof ErrorBody>;
