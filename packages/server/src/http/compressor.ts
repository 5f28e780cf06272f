import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { preferredEncoding } from './accept-encoding.ts';

/** In the order of preference: at these levels, brotli takes less time than gzip and makes smaller answers. */
const ENCODINGS = ['br', 'gzip'] as const;
export type ContentEncoding = (typeof ENCODINGS)[number];

/** Quick levels: the next ones save a few percent more and take two to four times as long (docs/performance.md). */
const QUICK = {
  br: (sizeHint: number) => ({
    params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: sizeHint },
  }),
  gzip: { level: 1 },
};

/** A smaller answer fits into one packet as it is. */
const BYTES_MIN = 1_400;
/** A larger answer would occupy a thread for more than about 40 ms. */
const BYTES_MAX = 4 * 1024 * 1024;
/** Answers that are compressed at once: half of Node's threads, which hash passwords and unpack bodies too. */
const AT_ONCE_MAX = 2;

const [brotliAsync, gzipAsync] = [promisify(brotliCompress), promisify(gzip)];

/** Compresses answers on Node's threads. It bounds the time that this takes; an answer beyond the bounds is sent as it is. */
export class Compressor {
  #underWay = 0;

  /** The text compressed in a way that the client takes; undefined when it is to be sent as it is. */
  async compress(
    text: string,
    acceptEncoding: string | undefined,
  ): Promise<{ encoding: ContentEncoding; bytes: Buffer } | undefined> {
    if (text.length < BYTES_MIN || text.length > BYTES_MAX || this.#underWay >= AT_ONCE_MAX) return undefined;
    const encoding = preferredEncoding(acceptEncoding, ENCODINGS);
    if (encoding === undefined) return undefined;
    const bytes = Buffer.from(text);
    this.#underWay += 1;
    try {
      const compressed = await (encoding === 'br' ? brotliAsync(bytes, QUICK.br(bytes.length)) : gzipAsync(bytes, QUICK.gzip));
      return compressed.length < bytes.length ? { encoding, bytes: compressed } : undefined;
    } finally {
      this.#underWay -= 1;
    }
  }
}
