import * as zlib from 'node:zlib';
import { ImportError } from './imported-evaluation.ts';
import { decompressZstd } from './zstandard.ts';

/** Signatures of the records of an archive (PKWARE APPNOTE, sections 4.3.7, 4.3.12 and 4.3.14 to 4.3.16). */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_LENGTH = 22;
const END_ZIP64 = 0x06064b50;
const LOCATOR_ZIP64 = 0x07064b50;
const END_ZIP64_LENGTH = 56;
const LOCATOR_ZIP64_LENGTH = 20;
const COMMENT_LENGTH_MAX = 0xffff;

/** Compression methods (APPNOTE, section 4.4.5). */
const STORED = 0;
const DEFLATED = 8;
const ZSTANDARD = 93;

/**
 * One entry of a ZIP archive, decompressed; undefined if it does not exist. Encrypted and split archives are not supported, because Inspect
 * writes none. The entry must be the one that Python reads, so the archive must be the whole file and contain the name only once.
 * @param bytesMax the maximum size of a compressed entry after decompression
 * @throws ImportError if the records of the archive are damaged, if it contains the name more than once, or if the entry has a wrong
 * checksum or an unsupported compression method, or is larger than `bytesMax`.
 */
export function readZipEntry(archive: Uint8Array, name: string, bytesMax: number): Uint8Array | undefined {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  try {
    const [entry, another] = entriesOf(archive, view).filter((each) => each.name === name);
    if (entry === undefined) return undefined;
    if (another !== undefined)
      throw new ImportError(
        'contradictory',
        `the .eval archive has more than one ${name}, so its result is unclear: import the log that Inspect AI wrote`,
      );
    if (view.getUint32(entry.offset, true) !== LOCAL) throw damagedError();
    const start = entry.offset + 30 + view.getUint16(entry.offset + 26, true) + view.getUint16(entry.offset + 28, true);
    const content = decompress(archive.subarray(start, start + entry.length), entry.method, bytesMax);
    if (checksumOf(content) !== entry.checksum) throw damagedError();
    return content;
  } catch (error) {
    if (error instanceof ImportError) throw error;
    throw damagedError(error);
  }
}

interface Entry {
  name: string;
  method: number;
  checksum: number;
  /** The compressed length in bytes. */
  length: number;
  offset: number;
}

function entriesOf(archive: Uint8Array, view: DataView): Entry[] {
  const entries: Entry[] = [];
  let { at, end } = centralDirectory(view);
  while (at < end) {
    if (view.getUint32(at, true) !== CENTRAL) throw damagedError();
    const nameLength = view.getUint16(at + 28, true);
    // Python ends a name at a null byte.
    const [name] = Buffer.from(archive.subarray(at + 46, at + 46 + nameLength))
      .toString('latin1')
      .split('\0', 1);
    entries.push({
      name: name!,
      method: view.getUint16(at + 10, true),
      checksum: view.getUint32(at + 16, true),
      length: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  if (at !== end) throw damagedError();
  return entries;
}

/**
 * The offsets of the list of entries, from the record at the end of the archive. A comment may follow the record. The list must end where
 * the record, or the ZIP64 records before it, start. Otherwise other bytes precede the archive, and Python adds their number to all
 * offsets.
 */
function centralDirectory(view: DataView): { at: number; end: number } {
  const offsetMin = Math.max(0, view.byteLength - END_LENGTH - COMMENT_LENGTH_MAX);
  for (let record = view.byteLength - END_LENGTH; record >= offsetMin; record -= 1) {
    if (view.getUint32(record, true) !== END) continue;
    const [length, at] = [view.getUint32(record + 12, true), view.getUint32(record + 16, true)];
    const end = at + length;
    if (record + END_LENGTH + view.getUint16(record + 20, true) !== view.byteLength) throw damagedError();
    if (end !== record && !areZip64Records(view, end, record, { length, at })) throw damagedError();
    return { at, end };
  }
  throw damagedError();
}

/** Whether the bytes from `start` to `end` are the ZIP64 records that Python writes for more than 65,535 entries, and describe `list`. */
const areZip64Records = (view: DataView, start: number, end: number, list: { length: number; at: number }): boolean =>
  end - start === END_ZIP64_LENGTH + LOCATOR_ZIP64_LENGTH &&
  view.getUint32(start, true) === END_ZIP64 &&
  view.getUint32(end - LOCATOR_ZIP64_LENGTH, true) === LOCATOR_ZIP64 &&
  view.getBigUint64(start + 40, true) === BigInt(list.length) &&
  view.getBigUint64(start + 48, true) === BigInt(list.at);

/** The terms of CRC-32 for each byte (APPNOTE, section 4.4.7). Node has `crc32` only since 20.15. */
const CRC_TERMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let term = byte;
  for (let bit = 0; bit < 8; bit += 1) term = (term >>> 1) ^ (term & 1 ? 0xedb88320 : 0);
  return term;
});

function checksumOf(content: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of content) crc = (crc >>> 8) ^ CRC_TERMS[(crc ^ byte) & 0xff]!;
  return ~crc >>> 0;
}

function decompress(data: Uint8Array, method: number, bytesMax: number): Uint8Array {
  if (method === STORED) return data;
  if (method === DEFLATED) return zlib.inflateRawSync(data, { maxOutputLength: bytesMax });
  if (method !== ZSTANDARD)
    throw new ImportError('not_this_format', `the archive is compressed by an unknown method (${method})`);
  return decompressZstd(data, bytesMax);
}

const damagedError = (cause?: unknown): ImportError =>
  new ImportError(
    'not_this_format',
    'the .eval archive is damaged, cut off or too large, or the file also contains other data: import the log that Inspect AI wrote',
    { cause },
  );
