import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ExitError } from '../errors/exit-codes.ts';
import {
  type BackupManifest,
  type BackupPart,
  damaged,
  MANIFEST_BYTES_MAX,
  MANIFEST_FILE,
  parseManifest,
  SECRETS_FILE,
} from './manifest.ts';
import { paddingOf, readTarHeader, TAR_BLOCK_BYTES } from './tar-format.ts';
import { decompress } from './zstandard.ts';

/** A backup that is open for reading. It reads one file of limited size at a time. */
export interface BackupReader {
  readonly manifest: BackupManifest;
  /** The file of a part, still compressed. Throws if it is missing or too long, or if its SHA-256 differs from the manifest. */
  read(part: BackupPart): Promise<Uint8Array>;
  /** The encrypted secrets; undefined if the backup has none. Throws like `read`. */
  secrets(): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/** Reads a file of the backup; throws if it is missing or longer than `bytesMax`. */
type ReadFile = (name: string, bytesMax: number) => Promise<Buffer>;

/** The maximum size of the file of encrypted secrets. Real files are smaller. */
const SECRETS_BYTES_MAX = 64 * 1024;

/** Opens a backup for reading: a folder, or one file. @throws ExitError if the backup or its manifest cannot be read, or is not valid. */
export async function openBackup(path: string): Promise<BackupReader> {
  const unreadable = (error: Error): never => {
    throw new ExitError('wrong_use', `cannot read ${JSON.stringify(path)}: ${error.message}`);
  };
  const stats = await stat(path).catch(unreadable);
  const file = stats.isDirectory() ? undefined : await open(path, 'r').catch(unreadable);
  try {
    const readFile = file === undefined ? fromFolder(path) : await fromTar(file);
    const manifest = parseManifest((await readFile(MANIFEST_FILE, MANIFEST_BYTES_MAX)).toString('utf8'));
    return {
      manifest,
      read: (part) => readFile(part.file, part.bytes).then((bytes) => requireDigest(part.file, bytes, part.sha256)),
      secrets: async () => {
        const { secretsSha256 } = manifest;
        if (secretsSha256 === undefined) return undefined;
        return requireDigest(SECRETS_FILE, await readFile(SECRETS_FILE, SECRETS_BYTES_MAX), secretsSha256);
      },
      close: async () => file?.close(),
    };
  } catch (error) {
    await file?.close();
    throw error;
  }
}

/** Returns the content of a file. @throws ExitError if its SHA-256 is not the given one. */
function requireDigest(name: string, bytes: Buffer, sha256: string): Buffer {
  if (createHash('sha256').update(bytes).digest('hex') === sha256) return bytes;
  throw damaged(`the SHA-256 of ${name} is not the one in the manifest`);
}

/** The error for a file that exceeds its limit: the length in the manifest or, for the manifest and the secrets, a fixed length. */
const tooLong = (name: string, bytes: number, bytesMax: number): ExitError =>
  damaged(`${name} has ${bytes} bytes, but at most ${bytesMax} are allowed`);

const fromFolder =
  (path: string): ReadFile =>
  async (name, bytesMax) => {
    const file = await open(join(path, name), 'r').catch((error: Error) => {
      throw damaged(`${name} cannot be read: ${error.message}`);
    });
    try {
      const { size } = await file.stat();
      if (size > bytesMax) throw tooLong(name, size, bytesMax);
      return await file.readFile();
    } finally {
      await file.close();
    }
  };

async function fromTar(file: FileHandle): Promise<ReadFile> {
  const files = await indexTar(file);
  return async (name, bytesMax) => {
    const entry = files.get(name);
    if (entry === undefined)
      throw damaged(`it has no ${name}; the file may be cut off${name === MANIFEST_FILE ? ', or may not be a backup' : ''}`);
    if (entry.bytes > bytesMax) throw tooLong(name, entry.bytes, bytesMax);
    const content = Buffer.allocUnsafe(entry.bytes);
    const { bytesRead } = await file.read(content, 0, entry.bytes, entry.offset);
    if (bytesRead !== entry.bytes) throw damaged(`the file ends within ${name}`);
    return content;
  };
}

/** Returns the offset and the length of the content of each file in an archive. Reads only the headers. */
async function indexTar(file: FileHandle): Promise<Map<string, { offset: number; bytes: number }>> {
  const files = new Map<string, { offset: number; bytes: number }>();
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  for (let offset = 0; ; ) {
    const { bytesRead } = await file.read(block, 0, TAR_BLOCK_BYTES, offset);
    const header = bytesRead === TAR_BLOCK_BYTES ? readTarHeader(block) : undefined;
    if (header === undefined || !Number.isSafeInteger(header.bytes)) return files;
    files.set(header.name, { offset: offset + TAR_BLOCK_BYTES, bytes: header.bytes });
    offset += TAR_BLOCK_BYTES + header.bytes + paddingOf(header.bytes);
  }
}

/** Decompresses a part. @throws ExitError if it cannot be decompressed, or its length differs from the manifest. */
export async function decompressPart({ file, rawBytes }: BackupPart, compressed: Uint8Array): Promise<Uint8Array> {
  const raw = await decompress(compressed, rawBytes).catch((error: Error) => {
    throw damaged(`${file} cannot be decompressed: ${error.message}`);
  });
  if (raw.length !== rawBytes) throw damaged(`${file} is not as long as the manifest says`);
  return raw;
}
