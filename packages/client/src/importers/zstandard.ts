import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';

/**
 * Decompresses Zstandard data (RFC 8878) to at most `bytesMax` bytes: with the decompressor of Node if there is one (22.15 and later),
 * otherwise with one in JavaScript.
 * @throws Error if the data is damaged, cut off or too large.
 */
export function decompressZstd(
  data: Uint8Array,
  bytesMax: number,
  native: typeof zlib.zstdDecompressSync | null = zlib.zstdDecompressSync ?? null,
): Uint8Array {
  if (native !== null) return native(data, { maxOutputLength: bytesMax });
  if (windowOf(data) > bytesMax) throw new Error('the data needs more memory than allowed');
  const chunks: Uint8Array[] = [];
  let [length, isWhole] = [0, false];
  const stream = new Decompress((chunk, isLast) => {
    length += chunk.length;
    if (length > bytesMax) throw new Error('the data is larger than allowed');
    chunks.push(chunk.slice());
    isWhole = isLast === true;
  });
  stream.push(data, true);
  if (!isWhole) throw new Error('the data is cut off');
  return Buffer.concat(chunks);
}

/** The memory that a frame needs, from its header (RFC 8878, section 3.1.1.1). */
function windowOf(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (view.getUint32(0, true) !== 0xfd2fb528) throw new Error('this is not a Zstandard frame');
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  if (!isSingleSegment) {
    const window = view.getUint8(5);
    const base = 2 ** (10 + (window >> 3));
    return base + (base / 8) * (window & 7);
  }
  const at = 5 + [0, 1, 2, 4][descriptor & 3]!;
  const sizes = [() => view.getUint8(at), () => view.getUint16(at, true) + 256, () => view.getUint32(at, true)];
  return sizes[descriptor >> 6]?.() ?? Number(view.getBigUint64(at, true));
}
