import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import type { Admission } from '../database/admission.ts';
import { ApiError } from '../errors/api-error.ts';
import { type BodyReservation, reserveDeclared, reserveGrowing } from './body-reservation.ts';
import { sendContinue } from './expect-continue.ts';
import { enforceMinimumRate } from './minimum-rate.ts';

/** The media type of a request in lower case without parameters; empty if absent. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();

/** Returns the content encoding of a request. Throws 415 if its media type, charset or encoding is not accepted. */
export function checkMediaType(
  request: IncomingMessage,
  accepted: readonly string[] = ['application/json'],
): 'identity' | 'gzip' | 'deflate' {
  const { headers } = request;
  if (headers['content-type'] === accepted[0] && headers['content-encoding'] === undefined) return 'identity';
  const type = mediaTypeOf(request);
  const parameters = (headers['content-type'] ?? '')
    .split(';')
    .slice(1)
    .map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (!accepted.includes(type))
    throw unsupported(
      `send Content-Type: ${accepted.join(' or ')}, got ${type === '' ? 'none' : JSON.stringify(type.slice(0, 80))}`,
    );
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
    throw unsupported('the charset of the body must be utf-8; send the body in UTF-8');
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'x-gzip') return 'gzip';
  if (encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate') return encoding;
  throw unsupported(`the content encoding ${JSON.stringify(encoding.slice(0, 80))} is not supported; use gzip, deflate or none`);
}

const unsupported = (message: string): ApiError =>
  new ApiError('unsupported_media_type', [{ path: '', code: 'media_type', message }]);

/** The limits for reading a body. */
export interface ReadingLimits {
  /** The maximum size in bytes after decompression. */
  bytesMax: number;
  /** Limits the memory of all requests together. */
  admission: Admission;
  tenantId: string;
  /** Accepted media types; by default application/json. */
  mediaTypes?: readonly string[];
}

/**
 * Reads and decompresses a body. Memory is reserved before a byte is read, and more while a body of unknown length grows. The caller
 * releases it with `release`. A compressed body is rejected as soon as it exceeds a limit, so a decompression bomb is not expanded further.
 * @throws ApiError 415 like `checkMediaType`, 413 for a body that is too large, 422 for a body that cannot be decompressed, 503 if there is
 *   not enough memory, or 400 if the sender disconnects.
 */
export async function readBody(
  request: IncomingMessage,
  limits: ReadingLimits,
): Promise<{ document: Buffer; release: () => void }> {
  const encoding = checkMediaType(request, limits.mediaTypes);
  const length = declaredBytes(request);
  if (encoding === 'identity' && length !== undefined && length > limits.bytesMax) throw tooLarge(limits.bytesMax);
  const reservation = reserve(request, limits, encoding === 'identity' ? { length } : { compressedBytes: length });
  sendContinue(request);
  let bodyBytes = 0;
  const chunks: Buffer[] = [];
  const addChunk = (chunk: Buffer) => {
    bodyBytes += chunk.length;
    if (bodyBytes > limits.bytesMax) throw tooLarge(limits.bytesMax);
    reservation.cover(bodyBytes);
    chunks.push(chunk);
  };
  try {
    if (encoding === 'identity' && request.complete && !request.destroyed) readArrived(request, addChunk);
    else await readArriving(request, decompressed(request, encoding, limits.bytesMax), addChunk);
    return { document: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bodyBytes), release: reservation.release };
  } catch (error) {
    reservation.release();
    // A sender that disconnected gets no response. The log and the metrics count its request as a bad request.
    throw error instanceof ApiError || !request.destroyed || request.complete
      ? closeIfUnread(request, error)
      : new ApiError('bad_request');
  }
}

/** The declared length of the body before decompression; undefined if it is chunked. */
function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Reserves memory for a body before a byte of it is read. Throws 503 if there is not enough. */
function reserve(
  request: IncomingMessage,
  { admission, tenantId, bytesMax }: ReadingLimits,
  { length, compressedBytes }: { length?: number | undefined; compressedBytes?: number | undefined },
): BodyReservation {
  try {
    return length === undefined
      ? reserveGrowing(admission, tenantId, { bytesMax, compressedBytes })
      : reserveDeclared(admission, tenantId, length);
  } catch (error) {
    throw closeIfUnread(request, error);
  }
}

/** After a rejection for lack of memory, the connection stays open if the declared length of the body is at most this. */
const DROPPED_BYTES_MAX = 64 * 1024;

/**
 * If a body that may be long is rejected for lack of memory, makes Node close the connection after the response. Until then the rest of the
 * body is read and discarded within limits (`drainBody`).
 */
function closeIfUnread(request: IncomingMessage, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'unavailable' || request.complete) return error;
  const length = declaredBytes(request);
  if (length === undefined || length > DROPPED_BYTES_MAX) error.headers.Connection = 'close';
  return error;
}

/**
 * Reads a body that has arrived completely. Most bodies have arrived by the time the key of the request has been checked. For them, an
 * async iterator would take more time than all other steps of reading.
 */
function readArrived(request: IncomingMessage, addChunk: (chunk: Buffer) => void): void {
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) addChunk(chunk);
}

async function readArriving(
  request: IncomingMessage,
  chunks: AsyncIterable<Buffer>,
  addChunk: (chunk: Buffer) => void,
): Promise<void> {
  const endWatch = enforceMinimumRate(request, declaredBytes(request) ?? 0);
  try {
    for await (const chunk of chunks) addChunk(chunk);
  } finally {
    endWatch();
  }
}

const tooLarge = (bytesMax: number): ApiError =>
  new ApiError('payload_too_large', [
    { path: '', code: 'size_limit', message: `the body may have at most ${bytesMax} bytes, decompressed; send less at once` },
  ]);

/**
 * The maximum ratio of decompressed to compressed bytes. A higher ratio is treated as an attack: real text has a ratio of about 10,
 * repetitive text of about 100.
 */
const EXPANSION_MAX = 300;
/** The ratio is not limited for bodies that are at most this large after decompression. */
const UNLIMITED_EXPANSION_BYTES_MAX = 1024 * 1024;

const expandsTooMuch = (bytesMax: number): ApiError =>
  new ApiError('payload_too_large', [
    {
      path: '',
      code: 'size_limit',
      message: `the body expands to more than ${EXPANSION_MAX} times its compressed bytes; send it uncompressed, at most ${bytesMax} bytes`,
    },
  ]);

const notEncoded = (encoding: 'gzip' | 'deflate'): ApiError =>
  new ApiError('invalid_json', [
    {
      path: '',
      code: 'not_json',
      message: `the body is not ${encoding}, is cut off, or has other bytes after the compressed data`,
    },
  ]);

/** Yields the decompressed bytes. Throws 422 if the bytes do not match the encoding, and 413 if they expand more than EXPANSION_MAX. */
async function* decompressed(
  request: IncomingMessage,
  encoding: 'identity' | 'gzip' | 'deflate',
  bytesMax: number,
): AsyncGenerator<Buffer> {
  const source = request as Readable;
  if (encoding === 'identity') {
    yield* source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    return;
  }
  const stream = source.pipe(encoding === 'gzip' ? createGunzip() : createInflate());
  source.once('close', () => source.readableEnded || stream.destroy());
  let compressedBytes = 0;
  source.on('data', (chunk: Buffer) => {
    compressedBytes += chunk.length;
  });
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > UNLIMITED_EXPANSION_BYTES_MAX && bytes > EXPANSION_MAX * stream.bytesWritten) throw expandsTooMuch(bytesMax);
      yield chunk;
    }
    // Node reads all gzip streams of a body, but only the first deflate stream: it ignores further bytes.
    if (encoding === 'deflate' && compressedBytes > stream.bytesWritten) throw notEncoded(encoding);
  } catch (error) {
    if (
      error instanceof Error &&
      /^Z_|incorrect header|unexpected end of file/.test(`${(error as { code?: string }).code} ${error.message}`)
    ) {
      throw notEncoded(encoding);
    }
    throw error;
  }
}
