import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { link, open, rename } from 'node:fs/promises';

/** Read and write permission for all users, which the process's umask restricts. */
const DEFAULT_MODE = 0o666;

/** Writes a new file and syncs its content to disk. The caller syncs its name with `syncFolder`. Rejects if the file exists. */
export async function writeSynced(path: string, content: string | Uint8Array, mode = DEFAULT_MODE): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs the names of the files in a folder. A failed sync is ignored, because some mounted file systems do not support it. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().catch(() => undefined);
  await folder.close();
}

/** Error codes of file systems without hard links, such as most mounted buckets. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Gives a complete file the name `path`. Returns false if a file with this name exists. On a file system without hard links, the file is
 * renamed, which may overwrite a file that another process has just created. In all other cases the temporary file remains, and the caller
 * removes it.
 */
export async function nameFile(temporaryPath: string, path: string): Promise<boolean> {
  try {
    await link(temporaryPath, path);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    await rename(temporaryPath, path);
    return true;
  }
}

/** The same as `writeSynced`, but synchronous. The files of secrets are written with it. */
export function writeSyncedNow(path: string, content: string, mode: number): void {
  writeFileSync(path, content, { mode, flag: 'wx' });
  syncNow(path);
}

/** Syncs the content of a file, or the names of the files in a folder, to disk. Throws if the file system cannot. */
export function syncNow(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
