import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ExitError } from '../errors/exit-codes.ts';

/** Opens a file (`-` is standard input) as a stream for `work`, and closes it afterwards. @throws ExitError if it cannot be read. */
export async function withInputFile<T>(path: string, work: (bytes: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T> {
  const stream = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: 128 * 1024 });
  // Opening may fail before anything is read; the first read then gets the error.
  stream.on('error', () => undefined);
  try {
    return await explainFileErrors('read', path, work(stream as AsyncIterable<Uint8Array>));
  } finally {
    stream.destroy();
  }
}

/**
 * Writes a file under a temporary name and renames it when it is complete and on disk, so that the file is never incomplete. A device or a
 * pipe is written directly.
 * @throws ExitError if it cannot be written.
 */
export async function withOutputFile(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const target = await realpath(path).catch(() => path); // A symbolic link is followed, not replaced.
  // The name is random, because a killed command may have left its file. In containers even the process IDs of two commands can be equal.
  const temporary = (await isNonRegularFile(target)) ? target : `${target}.${randomBytes(6).toString('hex')}.partial`;
  const file = await explainFileErrors('write', path, open(temporary, temporary === target ? 'w' : 'wx'));
  try {
    await work((text) => explainFileErrors('write', path, file.writeFile(text)));
    if (temporary !== target)
      await explainFileErrors(
        'write',
        path,
        file.sync().then(() => rename(temporary, target)),
      );
  } catch (error) {
    if (temporary !== target) await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Whether a path exists and is not a regular file: a device or a pipe, which renaming would replace, or a folder, where writing fails. */
async function isNonRegularFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => !stats.isFile(),
    () => false,
  );
}

/** Turns errors of the operating system into an ExitError that names the file. Other errors are unchanged. */
async function explainFileErrors<T>(verb: 'read' | 'write', path: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    const why = verb === 'write' && (error as NodeJS.ErrnoException).code === 'ENOENT' ? missingFolder(path) : error.message;
    // A command may read two files at once. An error of the operating system names the right file.
    const failingPath = (verb === 'read' && (error as NodeJS.ErrnoException).path) || path;
    throw new ExitError('wrong_use', `cannot ${verb} ${JSON.stringify(failingPath)}: ${why}`, { cause: error });
  });
}

const missingFolder = (path: string): string => `there is no folder ${JSON.stringify(dirname(path))}; create it first`;
