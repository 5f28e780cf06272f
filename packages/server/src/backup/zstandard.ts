import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ExitError } from '../errors/exit-codes.ts';

/** Level 3 compresses recorded runs to about a tenth; higher levels take much longer and save little. */
const LEVEL = 3;

/** Throws ExitError `wrong_use` if this Node.js has no Zstandard. The packed server also runs on Node 20, which has none. */
export function requireZstandard(): void {
  if (zlib.zstdCompress === undefined)
    throw new ExitError('wrong_use', `backup and restore need Node.js 22.15 or later, and this is ${process.version}`);
}

/** Compresses bytes on a thread of Node's pool. */
export const compress = (raw: Uint8Array): Promise<Buffer> =>
  promisify(zlib.zstdCompress)(raw, { params: { [zlib.constants.ZSTD_c_compressionLevel]: LEVEL } });

/** Decompresses. Rejects if the bytes are damaged, or if the content is longer than `bytesMax`. */
export const decompress = (compressed: Uint8Array, bytesMax: number): Promise<Buffer> =>
  promisify(zlib.zstdDecompress)(compressed, { maxOutputLength: Math.max(bytesMax, 1) });
