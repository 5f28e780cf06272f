import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import type { Admission } from '../database/admission.ts';
import { ApiError } from '../errors/api-error.ts';
import { type BodyReservation, reserveDeclared, reserveGrowing } from './body-reservation.ts';
import { sendContinue } from './expect-continue.ts';
import { demandMinimumRate } from './minimum-rate.ts';

/** The media type of a request in lower case, without its parameters; empty when there is none. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();

/** The encoding of a request whose media type is accepted, plain or gzip or deflate; anything else is a 415 before a byte is read. */
export function checkMediaType(
  request: IncomingMessage,
  accepted: readonly string[] = ['application/json'],
): 'identity' | 'gzip' | 'deflate' {
  const { headers } = request;
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
    throw unsupported('JSON is sent in UTF-8 (RFC 8259); leave the charset out');
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'x-gzip') return 'gzip';
  if (encoding === 'identity' || encoding === 'gzip' || encoding === 'deflate') return encoding;
  throw unsupported('compress the body with gzip or deflate, or not at all');
}

const unsupported = (message: string): ApiError =>
  new ApiError('unsupported_media_type', [{ path: '', code: 'media_type', message }]);

/** What bounds the reading of a body. */
export interface ReadingLimits {
  /** Largest body in bytes, decompressed. */
  bytesMax: number;
  /** Bounds what all requests together hold in memory. */
  admission: Admission;
  tenantId: string;
  /** Accepted media types; application/json alone when left out. */
  mediaTypes?: readonly string[];
}

/**
 * Reads a body up to its limit, decompressed. Its room is taken from the admission before a byte is read; the caller calls `leave` when
 * the request is over. A compressed body is refused at the first byte past the limit: a bomb is never unpacked further than that.
 */
export async function readBody(
  request: IncomingMessage,
  limits: ReadingLimits,
): Promise<{ document: Buffer; leave: () => void }> {
  const encoding = checkMediaType(request, limits.mediaTypes);
  const length = declaredBytes(request);
  if (encoding === 'identity' && length !== undefined && length > limits.bytesMax) throw tooLarge(limits.bytesMax);
  const reservation = reserve(request, limits, encoding === 'identity' ? { length } : { compressedBytes: length });
  sendContinue(request);
  let taken = 0;
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer) => {
    taken += chunk.length;
    if (taken > limits.bytesMax) throw tooLarge(limits.bytesMax);
    reservation.cover(taken);
    chunks.push(chunk);
  };
  try {
    if (encoding === 'identity' && request.complete && !request.destroyed) readArrived(request, take);
    else await readArriving(request, decompressed(request, encoding, limits.bytesMax), take);
    return { document: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, taken), leave: reservation.release };
  } catch (error) {
    reservation.release();
    // A sender that broke off gets no answer any more; it is its fault and not ours, in the log and in the metrics.
    throw error instanceof ApiError || !request.destroyed || request.complete
      ? closingWhereUnread(request, error)
      : new ApiError('bad_request');
  }
}

/** The declared length of the body on the wire; undefined where it is chunked. */
function declaredBytes({ headers }: IncomingMessage): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Reserves the body's room, or refuses it before a byte of it is read. */
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
    throw closingWhereUnread(request, error);
  }
}

/** A rest that is no longer than this is read and dropped, and the connection stays. */
const DROPPED_BYTES_MAX = 64 * 1024;

/** A body that is refused for lack of room ends its connection, unless the rest of it is short: swallowing it all would be work for nothing. */
function closingWhereUnread(request: IncomingMessage, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'unavailable' || request.complete) return error;
  const length = declaredBytes(request);
  if (length === undefined || length > DROPPED_BYTES_MAX) error.headers.Connection = 'close';
  return error;
}

/** Most bodies are here, whole, by the time their key has been looked up; an async iterator would cost more than all the rest. */
function readArrived(request: IncomingMessage, take: (chunk: Buffer) => void): void {
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) take(chunk);
}

async function readArriving(
  request: IncomingMessage,
  chunks: AsyncIterable<Buffer>,
  take: (chunk: Buffer) => void,
): Promise<void> {
  const endWatch = demandMinimumRate(request, declaredBytes(request) ?? 0);
  try {
    for await (const chunk of chunks) take(chunk);
  } finally {
    endWatch();
  }
}

const tooLarge = (bytesMax: number): ApiError =>
  new ApiError('payload_too_large', [
    { path: '', code: 'size_limit', message: `the body may hold at most ${bytesMax} bytes, decompressed; send less at once` },
  ]);

/** Text that agents send is compressed to a tenth, to a hundredth where it repeats itself. What is beyond this was made to be a bomb. */
const EXPANSION_MAX = 300;
/** Up to here a body may expand as it likes. */
const EXPANDED_FREELY_BYTES = 1024 * 1024;

const expandsTooMuch = (bytesMax: number): ApiError =>
  new ApiError('payload_too_large', [
    {
      path: '',
      code: 'size_limit',
      message: `the body expands to more than ${EXPANSION_MAX} times its compressed bytes; send it uncompressed, at most ${bytesMax} bytes`,
    },
  ]);

/** The decompressed bytes. Bytes that are not what the encoding says are an `invalid_json`: the body cannot be read. */
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
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > EXPANDED_FREELY_BYTES && bytes > EXPANSION_MAX * stream.bytesWritten) throw expandsTooMuch(bytesMax);
      yield chunk;
    }
  } catch (error) {
    if (
      error instanceof Error &&
      /^Z_|incorrect header|unexpected end of file/.test(`${(error as { code?: string }).code} ${error.message}`)
    ) {
      throw new ApiError('invalid_json', [{ path: '', code: 'not_json', message: `the body is not ${encoding}` }]);
    }
    throw error;
  }
}
