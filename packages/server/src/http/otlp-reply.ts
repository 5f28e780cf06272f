import type { ErrorCode } from '@countersign/core/contract/errors';
import { OTLP_MEDIA_TYPES, OTLP_STATUS } from '@countersign/core/contract/otlp-operations';
import type { Signal } from '@countersign/core/otlp/protobuf-bounds';
import { encodeExportResponse, encodeStatus } from '@countersign/core/otlp/write-protobuf';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiError } from '../errors/api-error.ts';
import type { IngestReply } from '../ingest/ingest-request.ts';
import type { MediaType } from '../otlp/export.ts';
import { asApiError, drainBody, noteError } from './error-reply.ts';
import { mediaTypeOf } from './read-body.ts';

/** The media type of an export; undefined if OTLP does not define it. */
export function exportMediaType({ raw }: FastifyRequest): MediaType | undefined {
  const type = mediaTypeOf(raw);
  return OTLP_MEDIA_TYPES.find((each) => each === type);
}

/** Sends the response to an export in the media type of its request. */
export function replyExport(
  reply: FastifyReply,
  { signal, mediaType }: { signal: Signal; mediaType: MediaType },
  { json, headers }: IngestReply,
): FastifyReply {
  const body = mediaType === 'application/json' ? json : encodeExportResponse(signal, JSON.parse(json));
  return sendAs(reply.headers(headers), mediaType, body);
}

/** Codes of google.rpc.Status by HTTP status. */
const RPC_CODES: Readonly<Record<number, number>> = { 401: 16, 429: 8, 500: 13, 503: 14 };
const INVALID_ARGUMENT = 3;

/** Sends an error as google.rpc.Status in the media type of the request, or as JSON if OTLP does not define that media type. */
export function replyExportError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  drainBody(request);
  const apiError = asApiError(error);
  noteError(apiError, error, request);
  const status = OTLP_STATUS[apiError.status] ?? apiError.status;
  const body = { code: RPC_CODES[status] ?? INVALID_ARGUMENT, message: messageOf(apiError) };
  void reply.code(status).headers(apiError.headers);
  const mediaType = exportMediaType(request) ?? 'application/json';
  void sendAs(reply, mediaType, mediaType === 'application/json' ? JSON.stringify(body) : encodeStatus(body));
}

/**
 * Sends a body as bytes, because Fastify adds a charset to the Content-Type of a string. The OpenTelemetry Collector reads the partial
 * success in a response only if its Content-Type equals the request's exactly.
 */
const sendAs = (reply: FastifyReply, mediaType: MediaType, body: string | Uint8Array): FastifyReply =>
  reply.header('content-type', mediaType).send(Buffer.from(body as Uint8Array));

/** The messages of errors without an issue. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'The key is missing or not valid. Send an ingestion key with the scope telemetry as x-service-key.',
  rate_limited: 'The key sent too many requests in this minute. Retry-After says when to try again.',
  unavailable: 'The service is not available now. Retry-After says when to send the export again.',
  internal_error: "The service failed. Nothing was stored. The server's log has the reason under the ID in X-Request-Id.",
};

/** The message of an error, for the log of the sender: all issues with their paths, or the sentence for the code. */
function messageOf({ code, issues }: ApiError): string {
  const messages = issues.map(({ path, message }) => (path === '' || message.startsWith(path) ? message : `${path}: ${message}`));
  return messages.length > 0 ? messages.join('; ') : (MESSAGES[code] ?? code.replaceAll('_', ' '));
}
