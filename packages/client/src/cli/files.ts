import { randomUUID } from 'node:crypto';
import {
  accessSync,
  appendFileSync,
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { decodeUtf8 } from '@countersign/core/domain/export-line';
import { wrongUse } from './exit-codes.ts';

/** The largest file that `readFile` reads unless its caller sets a lower limit, in bytes. */
export const FILE_BYTES_MAX = 256 * 1024 * 1024;

const BYTE_ORDER_MARK = 0xfeff;

const CHUNK_BYTES = 128 * 1024;

/** Reads a file. Throws a CommandError if it cannot be read or is too large. */
export function readFile(path: string, bytesMax = FILE_BYTES_MAX): Uint8Array {
  return withFileErrors('read', path, () => {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size > bytesMax) throw wrongUse(`${JSON.stringify(path)} has ${size} bytes, but the limit is ${bytesMax}`);
      return readUpTo(file, path, bytesMax);
    } finally {
      closeSync(file);
    }
  });
}

/** Reads a text file. Throws a CommandError if it cannot be read, is too large, or is not UTF-8. */
export function readTextFile(path: string, bytesMax = FILE_BYTES_MAX): string {
  return decodeText(path, readFile(path, bytesMax));
}

/**
 * The text of bytes from `path`. Throws a CommandError if they are not UTF-8, because decoding would replace the invalid bytes. Also throws
 * a CommandError if they begin with a byte order mark. Other verifiers reject this mark, and an error of JSON.parse would not show it.
 */
export function decodeText(path: string, bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw wrongUse(`${JSON.stringify(path)} is not UTF-8 text`);
  if (text.charCodeAt(0) === BYTE_ORDER_MARK)
    throw wrongUse(`${JSON.stringify(path)} begins with a byte order mark; save it as UTF-8 without one`);
  return text;
}

/** Reads an open file. Devices and pipes report the size 0 and may never end, so the limit applies to the bytes that are read. */
function readUpTo(file: number, path: string, bytesMax: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  for (let length = 0; length <= bytesMax; ) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const count = readSync(file, chunk);
    if (count === 0) return Buffer.concat(chunks);
    chunks.push(chunk.subarray(0, count));
    length += count;
  }
  throw wrongUse(`${JSON.stringify(path)} is larger than the limit of ${bytesMax} bytes`);
}

/** Reads a file of any size in chunks. Opens the file when the first chunk is read. Throws a CommandError if it cannot be read. */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    throw fileError('read', path, error);
  }
}

/**
 * Writes a file under a temporary name, then renames it, so that no process reads a partial file. Links, pipes, devices and files that
 * cannot be replaced are written directly.
 */
export function writeFile(path: string, text: string): void {
  withFileErrors('write', path, () => void replaceFile(path, text));
}

/**
 * Checks that a file can be written at this path; otherwise throws a CommandError. Removes an older file, or empties it if it cannot be
 * removed. So its content is not mistaken for the new result.
 */
export function prepareFile(path: string): void {
  withFileErrors('write', path, () => {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) throw wrongUse(`cannot write ${JSON.stringify(path)}: it is a folder`);
    if (stats?.isFile() === false || STREAM_PATH.test(path)) accessSync(path, constants.W_OK);
    else if (replaceFile(path, '')) rmSync(path);
  });
}

/** Whether two paths name the same file. A symbolic link names its target. */
export function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true;
  const [file, otherFile] = [fileStats(one), fileStats(other)];
  return file?.isFile() === true && file.dev === otherFile?.dev && file.ino === otherFile.ino;
}

/** The result of `stat`; undefined if `stat` fails, for example because there is no such file. */
function fileStats(path: string) {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/** Paths of the streams of a process. A text is appended to them, because truncating them would remove earlier output. */
const STREAM_PATH = /^\/(?:dev\/(?:stdout|stderr|fd\/)|proc\/[^/]+\/fd\/)/;

/** Writes a file. Returns whether it was replaced; if not, it was written directly. */
function replaceFile(path: string, text: string): boolean {
  const isReplaceable = lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  if (!isReplaceable) {
    writeFileSync(path, text, { flag: STREAM_PATH.test(path) ? 'a' : 'w' });
    return false;
  }
  const temporaryPath = `${path}.${randomUUID()}.partial`;
  try {
    writeFileSync(temporaryPath, text, { flag: 'wx' });
    renameSync(temporaryPath, path);
    return true;
  } catch (error) {
    rmSync(temporaryPath, { force: true });
    // A mounted file, or another user's file in a shared folder, cannot be replaced, but it may be writable.
    if (!existsSync(path)) throw error;
    writeFileSync(path, text);
    return false;
  }
}

/** Appends to a file, for example the summary of a CI job. */
export const appendFile = (path: string, text: string): void => withFileErrors('write', path, () => appendFileSync(path, text));

function withFileErrors<T>(verb: 'read' | 'write', path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileError(verb, path, error);
  }
}

/** A CommandError with the path if the system reported the error; otherwise the error itself. */
const fileError = (verb: 'read' | 'write', path: string, error: unknown): unknown =>
  error instanceof Error && 'syscall' in error
    ? wrongUse(`cannot ${verb} ${JSON.stringify(path)}: ${error.message}`, error)
    : error;
