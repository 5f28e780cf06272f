import { accessSync, appendFileSync, constants, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { wrongUse } from './exit-codes.ts';

/** Largest file that is read whole, in bytes. */
export const FILE_BYTES_MAX = 256 * 1024 * 1024;

/** A file's bytes. Throws wrong use when it cannot be read or is too large. */
export function readFile(path: string, bytesMax = FILE_BYTES_MAX): Uint8Array {
  return usable('read', path, () => {
    const { size } = statSync(path);
    if (size > bytesMax) throw wrongUse(`${JSON.stringify(path)} has ${size} bytes; at most ${bytesMax} are read`);
    return readFileSync(path);
  });
}

/** Writes a file whole or not at all: under another name first, then renamed. What is no plain file (a pipe) is written to as it is. */
export function writeFile(path: string, text: string): void {
  usable('write', path, () => {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) return writeFileSync(path, text);
    const aside = asideOf(path);
    try {
      writeFileSync(aside, text, { flag: 'wx' });
      renameSync(aside, path);
    } catch (error) {
      rmSync(aside, { force: true });
      throw error;
    }
  });
}

/** Throws wrong use when no file can be written there. Nothing is left behind. */
export function checkWritable(path: string): void {
  usable('write', path, () => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) throw wrongUse(`cannot write ${JSON.stringify(path)}: it is a folder`);
    if (found?.isFile() === false) return accessSync(path, constants.W_OK);
    const aside = asideOf(path);
    writeFileSync(aside, '', { flag: 'wx' });
    rmSync(aside);
  });
}

const asideOf = (path: string): string => `${path}.${process.pid}.partial`;

/** Appends to a file that a CI system has made for this. */
export const appendFile = (path: string, text: string): void => usable('write', path, () => appendFileSync(path, text));

function usable<T>(verb: 'read' | 'write', path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw wrongUse(`cannot ${verb} ${JSON.stringify(path)}: ${error.message}`, error);
  }
}
