import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '@countersign/core/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseAway } from '../database/pool.ts';
import { ApiError, unavailable } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';

/** A refusal that no request of the application stands for: by the HTTP parser, or before the hooks. */
export interface EarlyRefusal {
  code: ErrorCode;
  status: number;
  requestId: string;
  /** What the parser calls the fault. */
  reason: string | undefined;
}

/** Who takes note of early refusals, by connection. */
const notedBy = new WeakMap<Duplex, (refusal: EarlyRefusal) => void>();

/** Has early refusals on a server's connections noted. */
export function noteEarlyRefusals(
  server: Server,
  event: 'connection' | 'secureConnection',
  note: (refusal: EarlyRefusal) => void,
) {
  server.on(event, (socket: Duplex) => notedBy.set(socket, note));
}

/** What is answered for an error: those of the table as they are, a database that is away as 503, anything else as a bare 500. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return isDatabaseAway(error) ? unavailable(error) : new ApiError('internal_error');
}

/** Headers that describe a body which is not sent when sending it fails. */
const OF_THE_ANSWER_MEANT = ['content-encoding', 'content-disposition', 'content-length'];

/** Sends an error. A fault of our own is logged with all that is known, and answered with its name alone. */
export function replyError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answer = asApiError(error);
  noteError(answer, error, request);
  for (const name of OF_THE_ANSWER_MEANT) reply.removeHeader(name);
  void reply
    .code(answer.status)
    .headers(answer.headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(answer.body));
}

/** Has an error in the log once its answer is sent. A fault of our own is logged at once, with all that is known. */
export function noteError(answer: ApiError, error: unknown, request: FastifyRequest): void {
  if (answer.status === 500) request.log.error({ err: error }, answer.code.replaceAll('_', ' '));
  request.refusal = { code: answer.code, reason: reasonOf(answer.cause) };
}

/** What the log says of an error's cause. */
const reasonOf = (cause: unknown): string | undefined =>
  cause === undefined ? undefined : cause instanceof Error ? cause.message : String(cause);

/** Answers a path that cannot be decoded (`/%zz`). No hook has run yet, so the request id is set here. */
export function replyUnreadablePath(_error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  swallowRest(request);
  const headers = { 'x-request-id': request.id, 'x-content-type-options': 'nosniff' };
  const answer = new ApiError('bad_request');
  replyError(answer, request, reply.headers(headers));
  noteRefusal(request.raw.socket, answer, request.id);
}

function noteRefusal(socket: Duplex, { code, status, cause }: ApiError, requestId: string): void {
  notedBy.get(socket)?.({ code, status, requestId, reason: reasonOf(cause) });
}

/** Requests that Node ends by itself, without body or request id, are answered from the table like all others. */
export function answerWhatNodeWouldNot(server: Server): void {
  // RFC 9112, section 9.6: a client that has closed its side still reads. Its connection is closed behind the last answer.
  (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  // RFC 9110, section 10.1.1: an expectation other than 100-continue may be ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => undefined);
    answerInTurn(socket, new ApiError('method_not_allowed', [], { Allow: 'POST' }));
  });
}

/** Connections that end with an answer to what the parser refused: what still comes on them is ignored. */
const ending = new WeakSet<Duplex>();

/** Answers what the HTTP parser refuses: malformed requests, headers that are too large, requests that do not arrive in time. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !(socket.writable || ending.has(socket))) {
    socket.destroy();
    return;
  }
  if (ending.has(socket)) return; // the parser refuses every further piece too; closing at once would lose the answers on their way
  ending.add(socket);
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'bad_request';
  const answer = new ApiError(code);
  answer.cause = error.code;
  answerInTurn(socket, answer);
}

/**
 * Answers on the bare socket once the requests before have their answers: answers come in the order of the requests (RFC 9112, section
 * 9.3.2), and an error that overtook them would make a stored record look refused. Which response has the socket is known to Node
 * alone, under a name of its own that its own handler of these errors asks too; counting them here would cost every good request.
 */
function answerInTurn(socket: Duplex, answer: ApiError): void {
  const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
  if (response?.req.complete) response.once('close', () => answerInTurn(socket, answer));
  else if (response?.headersSent) response.once('close', () => closeInTime(socket));
  else answerOnSocket(socket, answer);
}

/** How long a sender may take to close its side after an answer on the bare socket. */
const CLOSING_MS_MAX = 5_000;

/** Writes a whole answer where there is no response object to write it with, and closes; a sender that does not is cut off. */
export function answerOnSocket(socket: Duplex, answer: ApiError): void {
  const body = JSON.stringify(answer.body);
  const requestId = newId();
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    ...answer.headers,
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (socket.writable) {
    socket.write(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n${body}`);
    noteRefusal(socket, answer, requestId);
  }
  closeInTime(socket);
}

function closeInTime(socket: Duplex, patienceMs = CLOSING_MS_MAX): void {
  socket.end();
  const cut = setTimeout(() => socket.destroy(), patienceMs).unref();
  socket.once('close', () => clearTimeout(cut));
}

/** Bytes of an unread body that are still read and dropped, so that the sender gets to read why it was refused. */
const LINGER_BYTES_MAX = 64 * 1024 * 1024;
const LINGER_MS_MAX = 10_000;
/** Connections that linger at once. Beyond it, a connection ends with its answer, and its sender may not get to read that. */
const LINGERING_MAX = 256;

let lingering = 0;

/**
 * Reads and drops the rest of a refused body. Closing a connection that is still being written to makes the sender lose the answer;
 * reading forever would let it hold the server. So this is bounded in bytes, in time and in the number of connections.
 */
export function swallowRest({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return;
  const { socket } = raw;
  // Node calls this when the answer of a `Connection: close` is written. It would end both directions while the sender still writes.
  if (lingering < LINGERING_MAX) socket.destroySoon = () => closeInTime(socket, LINGER_MS_MAX);
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
