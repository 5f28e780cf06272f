import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, constants } from 'node:zlib';

/**
 * The quality of Brotli. At this quality, Brotli is as fast as Zstandard at level 3, and its results are larger. Unlike Zstandard, Brotli
 * is in every supported Node.js (docs/decisions/0055).
 */
const QUALITY = 1;
/** A window of 1 MiB. It is larger than SEGMENT_BYTES_MAX (segment-layout.ts), and it limits the memory of the decoder. */
const WINDOW_BITS = 20;

/** The smallest chunk of output, in bytes. Each further chunk needs another turn of Node's thread pool. */
const CHUNK_BYTES_MIN = 16 * 1024;

/** Compresses bytes on a thread of Node's pool. */
export const compress = (raw: Buffer): Promise<Buffer> =>
  promisify(brotliCompress)(raw, {
    chunkSize: Math.max(CHUNK_BYTES_MIN, raw.length >> 2),
    params: {
      [constants.BROTLI_PARAM_QUALITY]: QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: raw.length,
    },
  });

/** Decompresses to exactly this many bytes. Rejects if there are more or fewer, or if the bytes are damaged. */
export async function decompress(compressed: Buffer, bytes: number): Promise<Buffer> {
  const raw = await promisify(brotliDecompress)(compressed, {
    chunkSize: Math.max(CHUNK_BYTES_MIN, bytes),
    maxOutputLength: bytes,
  });
  if (raw.length !== bytes) throw new Error(`decompressed to ${raw.length} bytes instead of ${bytes}`);
  return raw;
}
