import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

/** Writes a new file that only this account can read, and syncs its content to disk. */
export function writeSynced(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  syncPath(path);
}

/** Syncs the names of the files in a folder to disk. */
export const syncFolder = (folder: string): void => syncPath(folder);

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
