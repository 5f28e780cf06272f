import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { ApiError } from '../api-error.ts';
import type { Admission } from '../database/admission.ts';

/** Media type and encoding of a request; anything but JSON, plain or gzip or deflate, is a 415 before a byte is read. */
export function checkMediaType({ headers }: IncomingMessage): 'identity' | 'gzip' | 'deflate' {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (type !== 'application/json')
    throw unsupported(`send Content-Type: application/json, got ${type === '' ? 'none' : JSON.stringify(type.slice(0, 80))}`);
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
}

/**
 * Reads a body up to its limit, decompressed. What is read counts against the admission; the caller calls `leave` when the request
 * is over. A compressed body is refused at the first byte past the limit: a bomb is never unpacked further than that.
 */
export async function readBody(
  request: IncomingMessage,
  limits: ReadingLimits,
): Promise<{ document: Buffer; leave: () => void }> {
  const encoding = checkMediaType(request);
  if (encoding === 'identity' && Number(request.headers['content-length'] ?? 0) > limits.bytesMax)
    throw tooLarge(limits.bytesMax);
  let admitted = 0;
  const leave = () => {
    limits.admission.leave(limits.tenantId, admitted);
    admitted = 0;
  };
  const chunks: Buffer[] = [];
  const take = (chunk: Buffer) => {
    if (admitted + chunk.length > limits.bytesMax) throw tooLarge(limits.bytesMax);
    limits.admission.enter(limits.tenantId, chunk.length);
    admitted += chunk.length;
    chunks.push(chunk);
  };
  try {
    if (encoding === 'identity' && request.complete && !request.destroyed) readArrived(request, take);
    else for await (const chunk of decompressed(request, encoding)) take(chunk);
    return { document: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, admitted), leave };
  } catch (error) {
    leave();
    // A sender that broke off gets no answer any more; it is its fault and not ours, in the log and in the metrics.
    throw error instanceof ApiError || !request.destroyed || request.complete ? error : new ApiError('bad_request');
  }
}

/** Most bodies are here, whole, by the time their key has been looked up; an async iterator would cost more than all the rest. */
function readArrived(request: IncomingMessage, take: (chunk: Buffer) => void): void {
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) take(chunk);
}

const tooLarge = (bytesMax: number): ApiError =>
  new ApiError('payload_too_large', [
    { path: '', code: 'size_limit', message: `the body may hold at most ${bytesMax} bytes, decompressed; send less at once` },
  ]);

/** The decompressed bytes. Bytes that are not what the encoding says are an `invalid_json`: the body cannot be read. */
async function* decompressed(request: IncomingMessage, encoding: 'identity' | 'gzip' | 'deflate'): AsyncGenerator<Buffer> {
  const source = request as Readable;
  const stream = encoding === 'identity' ? source : source.pipe(encoding === 'gzip' ? createGunzip() : createInflate());
  if (stream !== source) source.once('close', () => source.readableEnded || stream.destroy());
  try {
    yield* stream.iterator({ destroyOnReturn: stream !== source }) as AsyncIterable<Buffer>;
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
