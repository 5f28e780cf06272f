import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { preferredEncoding } from './accept-encoding.ts';

/**
 * The codings in order of preference. At the levels in FAST_OPTIONS, brotli takes half the time of gzip, with results a few percent larger.
 */
const ENCODINGS = ['br', 'gzip'] as const;
export type ContentEncoding = (typeof ENCODINGS)[number];

/** Fast levels: higher ones save at most a few percent and take more than twice as long (docs/performance.md). */
const FAST_OPTIONS = {
  br: (sizeHint: number) => ({
    params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: sizeHint },
  }),
  gzip: { level: 1 },
};

/** Smaller responses are not compressed: they fit into one packet. */
const BYTES_MIN = 1_400;
/** Larger responses are not compressed: each would occupy a thread for more than about 40 ms. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The maximum number of concurrent compressions: half of Node's threads, which also hash passwords and decompress bodies. */
const CONCURRENT_MAX = 2;

const [brotliAsync, gzipAsync] = [promisify(brotliCompress), promisify(gzip)];

/** Compresses responses on Node's threads, within limits of size and concurrency. */
export class Compressor {
  #inProgress = 0;

  /**
   * Returns the compressed text and its coding. Undefined if the limits of size and concurrency do not allow it, if the client accepts
   * neither coding, or if the result is not smaller.
   */
  async compress(
    text: string,
    acceptEncoding: string | undefined,
  ): Promise<{ encoding: ContentEncoding; bytes: Buffer } | undefined> {
    const length = Buffer.byteLength(text);
    if (length < BYTES_MIN || length > BYTES_MAX || this.#inProgress >= CONCURRENT_MAX) return undefined;
    const encoding = preferredEncoding(acceptEncoding, ENCODINGS);
    if (encoding === undefined) return undefined;
    const bytes = Buffer.from(text);
    this.#inProgress += 1;
    try {
      const compressed = await (encoding === 'br'
        ? brotliAsync(bytes, FAST_OPTIONS.br(bytes.length))
        : gzipAsync(bytes, FAST_OPTIONS.gzip));
      return compressed.length < bytes.length ? { encoding, bytes: compressed } : undefined;
    } finally {
      this.#inProgress -= 1;
    }
  }
}
