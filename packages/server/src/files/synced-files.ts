import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Everybody may read and write, except as the process's umask forbids. */
const DEFAULT_MODE = 0o666;

/** Writes a new file and syncs its content to disk. `syncFolder` then syncs its name. */
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

/** The same as `writeSynced`, but synchronous: secrets are written while a server starts, before it serves requests. */
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
