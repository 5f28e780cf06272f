/** The block size of a tar archive (POSIX ustar), in bytes. */
export const TAR_BLOCK_BYTES = 512;

const SIZE = { offset: 124, length: 12 };
const CHECKSUM = { offset: 148, length: 8 };

/** The header block of a regular file that only its owner can read. */
export function tarHeader(name: string, bytes: number, modifiedAt: Date): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES);
  header.write(name, 0, 100, 'utf8');
  header.write('0000600\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(octal(bytes, SIZE.length), SIZE.offset);
  header.write(octal(Math.floor(modifiedAt.getTime() / 1000), 12), 136);
  header.write('0', 156);
  header.write('ustar\u000000', 257, 'latin1');
  header.write(octal(checksumOf(header), 7), CHECKSUM.offset);
  return header;
}

/** The number of padding bytes after a file's content. */
export const paddingOf = (bytes: number): number => (TAR_BLOCK_BYTES - (bytes % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;

/** Reads a file's name and length from its header block; undefined for the end of the archive, or for a block that is not a header. */
export function readTarHeader(block: Buffer): { name: string; bytes: number } | undefined {
  const storedChecksum = Number.parseInt(block.toString('latin1', CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length), 8);
  if (storedChecksum !== checksumOf(block)) return undefined;
  const end = block.indexOf(0);
  const bytes = Number.parseInt(block.toString('latin1', SIZE.offset, SIZE.offset + SIZE.length), 8);
  return { name: block.toString('utf8', 0, Math.min(end === -1 ? 100 : end, 100)), bytes };
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

/** The sum over the block, with spaces in place of the checksum. */
function checksumOf(block: Buffer): number {
  let sum = 0;
  for (let offset = 0; offset < TAR_BLOCK_BYTES; offset += 1)
    sum += offset >= CHECKSUM.offset && offset < CHECKSUM.offset + CHECKSUM.length ? 0x20 : block[offset]!;
  return sum;
}
