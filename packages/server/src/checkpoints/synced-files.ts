import { open } from 'node:fs/promises';

/** Writes a new file, and returns when it is on the disk. Its name is not yet: `syncFolder`. */
export async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** So that the name survives a crash as well; not every mounted system can. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().catch(() => undefined);
  await folder.close();
}
