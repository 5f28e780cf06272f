import { open } from 'node:fs/promises';

/** Writes a new file and syncs its content to disk. `syncFolder` then syncs its name. */
export async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs the names of the files in a folder. Some mounted file systems cannot; this is ignored. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().catch(() => undefined);
  await folder.close();
}
