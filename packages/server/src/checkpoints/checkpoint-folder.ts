import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { variableError } from '../config/config-values.ts';
import { nameFile, syncFolder, writeSynced } from '../files/synced-files.ts';
import type { LogName } from '../storage/log-heads.ts';

/** A place for checkpoints outside the database. Copies outside the control of the operator reveal a truncated or rewritten log. */
export interface CheckpointSink {
  /** Stores a checkpoint. Does nothing if one of this size is stored. */
  write(tenantId: string, log: LogName, checkpoint: { size: number; note: string }): Promise<void>;
  /** The sizes of the stored checkpoints, the largest first. */
  sizes(tenantId: string, log: LogName): Promise<number[]>;
}

const SIZE_DIGITS = 16;
const ENDING = '.checkpoint';
const NAME = /^\d{16}\.checkpoint$/;

/** The remedy for a folder in which no file can be created. */
export const WRITABLE = 'give a folder in which this user can create files';

/**
 * Throws ExitError if the folder does not exist or is not writable. Called when the server starts. The folder is not created: if a mount
 * were missing, the new folder would be local, and the operator could change it.
 */
export function requireCheckpointFolder(folder: string): void {
  try {
    rmdirSync(mkdtempSync(join(folder, '.countersign-')));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const fault = code === 'ENOENT' ? 'does not exist; mount or create it' : `is not writable (${code}); ${WRITABLE}`;
    throw variableError('COUNTERSIGN_CHECKPOINT_DIR', `is ${folder}, which ${fault}`);
  }
}

/**
 * Writes each checkpoint to `<folder>/<tenant>/<log>/<size>.checkpoint`, synced to disk. An existing file stays (but see `writeOnce`).
 * The size in the name has leading zeros, so that a listing is sorted.
 */
export function checkpointFolder(folder: string): CheckpointSink {
  const folderOf = (tenantId: string, log: LogName) => join(folder, tenantId, log);
  return {
    write: async (tenantId, log, { size, note }) => {
      const path = join(folderOf(tenantId, log), String(size).padStart(SIZE_DIGITS, '0') + ENDING);
      if (await exists(path)) return;
      // The configured folder is not created: a local folder must not replace a missing mount.
      await makeFolder(join(folder, tenantId));
      await makeFolder(dirname(path));
      await writeOnce(path, note);
    },
    sizes: async (tenantId, log) => {
      const names = await readdir(folderOf(tenantId, log)).catch(noFolder);
      return names
        .filter((name) => NAME.test(name))
        .sort()
        .reverse()
        .map((name) => Number.parseInt(name, 10));
    },
  };
}

/** Creates a folder, and syncs its name to disk, unless it exists. */
const makeFolder = (path: string): Promise<void> =>
  mkdir(path).then(
    () => syncFolder(dirname(path)),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );

/** Writes the whole file or nothing. An existing file stays, except on a file system without hard links. */
async function writeOnce(path: string, content: string): Promise<void> {
  // A random name, because in containers the process ID can be the same on every server.
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeSynced(temporary, content);
    await nameFile(temporary, path); // If another server has written this file meanwhile, its content is the same.
    await syncFolder(dirname(path));
  } finally {
    await rm(temporary, { force: true });
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

function noFolder(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
