import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '@countersign/core/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../database/pool.ts';
import { ApiError, unavailable } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';

/** A rejection outside the application's error handler: the request is malformed or late, has an unreadable path, or is a CONNECT. */
export interface EarlyRejection {
  code: ErrorCode;
  status: number;
  requestId: string;
  /** The error code of Node, for example of its HTTP parser; undefined if there is none. */
  reason: string | undefined;
}

/** The callbacks for early rejections, by connection. */
const earlyRejectionListeners = new WeakMap<Duplex, (rejection: EarlyRejection) => void>();

/**
 * Sets the callback for early rejections of a server's connections.
 * @param event the event that passes the socket on which the HTTP parser reads. With TLS it is `secureConnection`.
 */
export function noteEarlyRejections(
  server: Server,
  event: 'connection' | 'secureConnection',
  note: (rejection: EarlyRejection) => void,
) {
  server.on(event, (socket: Duplex) => earlyRejectionListeners.set(socket, note));
}

/** Returns an ApiError unchanged. Maps other errors to 503 if the database is unavailable, and otherwise to 500. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return isDatabaseUnavailable(error) ? unavailable(error) : new ApiError('internal_error');
}

/** Headers that describe the body of a successful response. They are removed when an error is sent instead. */
const BODY_HEADERS = ['content-encoding', 'content-disposition', 'content-length'];

/** Sends an error. An unexpected error is logged in full, and its response contains only the code `internal_error`. */
export function replyError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const apiError = asApiError(error);
  noteError(apiError, error, request);
  for (const name of BODY_HEADERS) reply.removeHeader(name);
  void reply
    .code(apiError.status)
    .headers(apiError.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(apiError.body));
}

/** Stores code and cause of an error for the log entry of its response. An error with status 500 is also logged at once, in full. */
export function noteError(apiError: ApiError, error: unknown, request: FastifyRequest): void {
  if (apiError.status === 500) request.log.error({ err: error }, apiError.code.replaceAll('_', ' '));
  request.rejection = { code: apiError.code, reason: reasonOf(apiError.cause) };
}

/** The text of an error's cause for the log. */
const reasonOf = (cause: unknown): string | undefined =>
  cause === undefined ? undefined : cause instanceof Error ? cause.message : String(cause);

/** Responds to a path that cannot be decoded (`/%zz`). No hook has run yet, so the request ID is set here. */
export function replyUnreadablePath(_error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  drainBody(request);
  const headers = { 'x-request-id': request.id, 'x-content-type-options': 'nosniff' };
  const apiError = new ApiError('bad_request');
  replyError(apiError, request, reply.headers(headers));
  noteRejection(request.raw.socket, apiError, request.id);
}

function noteRejection(socket: Duplex, { code, status, cause }: ApiError, requestId: string): void {
  earlyRejectionListeners.get(socket)?.({ code, status, requestId, reason: reasonOf(cause) });
}

/** Handles CONNECT and unknown expectations, which Node would otherwise reject by itself, without body or request ID. */
export function handleConnectAndExpect(server: Server): void {
  // RFC 9112, section 9.6: a client may close its side and still read. Its connection is closed after the last response.
  (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  // RFC 9110, section 10.1.1: an expectation other than 100-continue may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    sendInOrder(socket, new ApiError('method_not_allowed', [], { Allow: 'POST' }));
  });
}

/** Connections that are being closed after a parser error. Their further input is ignored. */
const closingConnections = new WeakSet<Duplex>();

/** Responds to errors of the HTTP parser: malformed requests, headers that are too large, requests that do not arrive in time. */
export function respondToClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !(socket.writable || closingConnections.has(socket))) {
    socket.destroy();
    return;
  }
  if (closingConnections.has(socket)) return; // The parser reports further input as an error. Closing at once would lose earlier responses.
  closingConnections.add(socket);
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'bad_request';
  const apiError = new ApiError(code);
  apiError.cause = error.code;
  sendInOrder(socket, apiError);
}

/**
 * Writes the response to the bare socket after the responses to earlier requests, because responses keep the order of requests (RFC 9112,
 * section 9.3.2). Otherwise the sender of an earlier, stored record could read the error as its rejection. The response that is being sent
 * is in an internal property of Node, which Node's own error handler reads too. Tracking responses here would cost time on every valid
 * request.
 */
function sendInOrder(socket: Duplex, apiError: ApiError): void {
  const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (response?.req.complete) response.once('close', () => sendInOrder(socket, apiError));
  else if (response?.headersSent) response.once('close', () => closeWithTimeout(socket));
  else sendOnSocket(socket, apiError);
}

/** How long a sender may take to close its side after a response on the bare socket. */
const CLOSING_MS_MAX = 5_000;

/** Writes a complete response without a response object, and closes the connection, at the latest after CLOSING_MS_MAX. */
export function sendOnSocket(socket: Duplex, apiError: ApiError): void {
  const body = JSON.stringify(apiError.body);
  const requestId = newId();
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    ...apiError.headers,
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (socket.writable) {
    socket.write(`HTTP/1.1 ${apiError.status} ${STATUS_CODES[apiError.status]}\r\n${lines.join('')}\r\n${body}`);
    noteRejection(socket, apiError, requestId);
  }
  closeWithTimeout(socket);
}

function closeWithTimeout(socket: Duplex, timeoutMs = CLOSING_MS_MAX): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), timeoutMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Limits for reading and discarding the rest of a rejected body, so that its sender can read the response. */
const LINGER_BYTES_MAX = 64 * 1024 * 1024;
const LINGER_MS_MAX = 10_000;
/**
 * The maximum number of connections that stay open for discarding. Further connections are closed right after the response, so their
 * senders may not receive it.
 */
const LINGERING_MAX = 256;

let lingering = 0;

/**
 * Reads and discards the rest of a rejected body. Closing the connection during the upload would lose the response. Reading without a limit
 * would occupy the server, so bytes, time and number of connections are limited.
 */
export function drainBody({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  const { socket } = raw;
  // Node calls `destroySoon` after it has written a response with `Connection: close`. That would end both directions while the sender
  // still writes.
  if (lingering < LINGERING_MAX) socket.destroySoon = () => closeWithTimeout(socket, LINGER_MS_MAX);
  lingering += 1;
  let bytes = 0;
  const deadline = setTimeout(() => raw.destroy(), LINGER_MS_MAX).unref();
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES_MAX) raw.destroy();
  });
  raw.once('close', () => {
    lingering -= 1;
    clearTimeout(deadline);
  });
  raw.on('error', () => undefined);
  raw.resume();
}
