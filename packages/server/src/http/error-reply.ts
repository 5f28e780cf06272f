import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '@countersign/core/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, unavailable } from '../api-error.ts';
import { isDatabaseAway } from '../database/pool.ts';
import { newId } from '../new-id.ts';

/** What is answered for an error: those of the table as they are, a database that is away as 503, anything else as a bare 500. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return isDatabaseAway(error) ? unavailable(error) : new ApiError('internal_error');
}

/** Sends an error. A fault of our own is logged with all that is known, and answered with its name alone. */
export function replyError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answer = asApiError(error);
  if (answer.code === 'internal_error') request.log.error({ err: error }, 'internal error');
  else if (answer.code === 'unavailable')
    request.log.warn({ reason: answer.cause instanceof Error ? answer.cause.message : answer.cause }, 'unavailable');
  void reply
    .code(answer.status)
    .headers(answer.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(answer.body));
}

/** Answers a path that cannot be decoded (`/%zz`). No hook has run yet, so the request id is set here. */
export function replyUnreadablePath(_error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  swallowRest(request);
  replyError(new ApiError('bad_request'), request, reply.header('x-request-id', request.id));
}

/** Requests that Node ends by itself, without body or request id, are answered from the table like all others. */
export function answerWhatNodeWouldNot(server: Server): void {
  // RFC 9110, section 10.1.1: an expectation other than 100-continue may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    answerOnSocket(socket, new ApiError('method_not_allowed', [], { Allow: 'POST' }));
  });
}

/** Answers what the HTTP parser refuses: malformed requests, headers that are too large, requests that do not arrive in time. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'bad_request';
  answerOnSocket(socket, new ApiError(code));
}

/** How long a sender may take to close its side after an answer on the bare socket. */
const CLOSING_MS_MAX = 5_000;

/** Writes a whole answer where there is no response object to write it with, and closes; a sender that does not is cut off. */
function answerOnSocket(socket: Duplex, answer: ApiError): void {
  const body = JSON.stringify(answer.body);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': newId(),
    ...answer.headers,
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), CLOSING_MS_MAX).unref();
  socket.once('close', () => clearTimeout(cut));
}

/** Bytes of an unread body that are still swallowed, so that the sender gets to read why it was refused. */
const LINGER_BYTES_MAX = 128 * 1024 * 1024;
const LINGER_MS_MAX = 10_000;

/**
 * Swallows what is left of a refused body. Closing a connection that is still being written to makes the sender lose the answer;
 * reading forever would let it hold us: so up to a bound in bytes and time.
 */
export function swallowRest(request: FastifyRequest): void {
  const { raw } = request;
  if (raw.complete || raw.destroyed) return;
  let bytes = 0;
  const deadline = setTimeout(() => raw.destroy(), LINGER_MS_MAX).unref();
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES_MAX) raw.destroy();
  });
  raw.once('close', () => clearTimeout(deadline));
  raw.on('error', () => undefined);
  raw.resume();
}
