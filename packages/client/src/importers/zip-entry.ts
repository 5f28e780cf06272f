import * as zlib from 'node:zlib';
import { ImportError } from './imported-evaluation.ts';
import { decompressZstd } from './zstandard.ts';

/** Signatures of the records of an archive (PKWARE APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16). */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_LENGTH = 22;
const COMMENT_LENGTH_MAX = 0xffff;

/** Compression methods (APPNOTE, section 4.4.5). */
const STORED = 0;
const DEFLATED = 8;
const ZSTANDARD = 93;

/**
 * One entry of a ZIP archive, decompressed; undefined if it does not exist. Encrypted and split archives are not supported, because Inspect
 * writes none.
 * @param bytesMax the maximum size of a compressed entry after decompression
 * Checksums are not verified.
 * @throws ImportError if the records of the archive are damaged, or if the entry has an unsupported compression method or is larger than
 * `bytesMax`.
 */
export function readZipEntry(archive: Uint8Array, name: string, bytesMax: number): Uint8Array | undefined {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  try {
    const entry = findEntry(archive, view, name);
    if (entry === undefined) return undefined;
    if (view.getUint32(entry.offset, true) !== LOCAL) throw damagedError();
    const start = entry.offset + 30 + view.getUint16(entry.offset + 26, true) + view.getUint16(entry.offset + 28, true);
    return decompress(archive.subarray(start, start + entry.length), entry.method, bytesMax);
  } catch (error) {
    if (error instanceof ImportError) throw error;
    throw damagedError(error);
  }
}

interface Entry {
  method: number;
  /** The compressed length in bytes. */
  length: number;
  offset: number;
}

function findEntry(archive: Uint8Array, view: DataView, name: string): Entry | undefined {
  let at = centralDirectory(view);
  while (at + 46 <= archive.length && view.getUint32(at, true) === CENTRAL) {
    const nameLength = view.getUint16(at + 28, true);
    const found = new TextDecoder().decode(archive.subarray(at + 46, at + 46 + nameLength));
    if (found === name)
      return {
        method: view.getUint16(at + 10, true),
        length: view.getUint32(at + 20, true),
        offset: view.getUint32(at + 42, true),
      };
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return undefined;
}

/** The start of the list of entries, from the record at the end, which a comment may follow. */
function centralDirectory(view: DataView): number {
  const first = Math.max(0, view.byteLength - END_LENGTH - COMMENT_LENGTH_MAX);
  for (let at = view.byteLength - END_LENGTH; at >= first; at -= 1) {
    if (view.getUint32(at, true) === END) return view.getUint32(at + 16, true);
  }
  throw damagedError();
}

function decompress(data: Uint8Array, method: number, bytesMax: number): Uint8Array {
  if (method === STORED) return data;
  if (method === DEFLATED) return zlib.inflateRawSync(data, { maxOutputLength: bytesMax });
  if (method !== ZSTANDARD)
    throw new ImportError('not_this_format', `the archive is compressed by an unknown method (${method})`);
  return decompressZstd(data, bytesMax);
}

const damagedError = (cause?: unknown): ImportError =>
  new ImportError('not_this_format', 'the .eval archive is damaged, cut off or too large', { cause });
