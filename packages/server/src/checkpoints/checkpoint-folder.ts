import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { noteText } from '@countersign/core/domain/signed-note';
import { variableError } from '../config/config-values.ts';
import { nameFile, syncFolder, writeSynced } from '../files/synced-files.ts';
import type { LogName } from '../storage/log-heads.ts';

/** A checkpoint to be stored. */
interface Checkpoint {
  size: number;
  note: string;
}

/** Stores checkpoints outside the database. Copies outside the control of the operator reveal a truncated or rewritten log. */
export interface CheckpointSink {
  /**
   * Stores a checkpoint. Does nothing if the checkpoint is stored already. If a different checkpoint of the same size is stored, keeps
   * both, and returns the file name of the new one.
   */
  write(tenantId: string, log: LogName, checkpoint: Checkpoint): Promise<string | undefined>;
  /** Whether a checkpoint is stored. Its signatures are not compared. */
  has(tenantId: string, log: LogName, checkpoint: Checkpoint): Promise<boolean>;
  /** The sizes of the stored checkpoints, the largest first. */
  sizes(tenantId: string, log: LogName): Promise<number[]>;
}

const SIZE_DIGITS = 16;
const ENDING = '.checkpoint';
const USUAL_NAME = /^\d{16}\.checkpoint$/;

/** The remedy for a folder in which no file can be created. */
export const WRITABLE_REMEDY = 'give a folder in which this user can create files';

/**
 * Throws ExitError if the folder does not exist or is not writable. Called when the server starts. The folder is not created: if a mount
 * were missing, the new folder would be local, and the operator could change it.
 */
export function requireCheckpointFolder(folder: string): void {
  try {
    rmdirSync(mkdtempSync(join(folder, '.countersign-')));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const fault = code === 'ENOENT' ? 'does not exist; mount or create it' : `is not writable (${code}); ${WRITABLE_REMEDY}`;
    throw variableError('COUNTERSIGN_CHECKPOINT_DIR', `is ${folder}, which ${fault}`);
  }
}

/**
 * Writes each checkpoint to `<folder>/<tenant>/<log>/<size>.checkpoint`, synced to disk. The size in the name has leading zeros, so that a
 * listing is sorted. An existing file is kept (but see `writeOnce`). If it contains a different checkpoint, for example one that was
 * abandoned in a restore, the new file is named `<size>.<first 8 digits of the SHA-256 of the note text>.checkpoint`.
 */
export function checkpointFolder(folder: string): CheckpointSink {
  const folderOf = (tenantId: string, log: LogName) => join(folder, tenantId, log);
  /** The file names of a checkpoint: the usual one, and the one that is used if the usual file contains a different checkpoint. */
  const namesOf = ({ size, note }: Checkpoint) => {
    const digits = String(size).padStart(SIZE_DIGITS, '0');
    return { usual: digits + ENDING, alternative: `${digits}.${hash('sha256', noteText(note), 'hex').slice(0, 8)}${ENDING}` };
  };
  return {
    write: async (tenantId, log, checkpoint) => {
      const { usual, alternative } = namesOf(checkpoint);
      // The configured folder is not created: a local folder must not replace a missing mount.
      await makeFolder(join(folder, tenantId));
      await makeFolder(folderOf(tenantId, log));
      if (await writeOnce(join(folderOf(tenantId, log), usual), checkpoint.note)) return undefined;
      await writeOnce(join(folderOf(tenantId, log), alternative), checkpoint.note);
      return alternative;
    },
    has: async (tenantId, log, checkpoint) => {
      const { usual, alternative } = namesOf(checkpoint);
      const notes = await Promise.all([usual, alternative].map((name) => readStored(join(folderOf(tenantId, log), name))));
      return notes.some((note) => note !== undefined && hasSameText(note, checkpoint.note));
    },
    sizes: async (tenantId, log) => {
      const names = await readdir(folderOf(tenantId, log)).catch(emptyIfMissing);
      return names
        .filter((name) => USUAL_NAME.test(name))
        .sort()
        .reverse()
        .map((name) => Number.parseInt(name, 10));
    },
  };
}

/** Whether two notes have the same text. Signatures are not compared, because a checkpoint can get further signatures later. */
const hasSameText = (one: string, other: string): boolean => noteText(one) === noteText(other);

/** Creates a folder, and syncs its name to disk, unless it exists. */
const makeFolder = (path: string): Promise<void> =>
  mkdir(path).then(
    () => syncFolder(dirname(path)),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );

/**
 * Writes the whole file or nothing. An existing file is kept, except on a file system without hard links. Returns whether the file now has
 * this checkpoint.
 */
async function writeOnce(path: string, note: string): Promise<boolean> {
  const storedNote = await readStored(path);
  if (storedNote !== undefined) return hasSameText(storedNote, note);
  // A random name, because in containers the process ID can be the same on every server.
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeSynced(temporary, note);
    await nameFile(temporary, path);
    await syncFolder(dirname(path));
  } finally {
    await rm(temporary, { force: true });
  }
  return hasSameText((await readStored(path)) ?? '', note); // Another server may have written this file meanwhile.
}

/** The content of a file; undefined if it does not exist. */
const readStored = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });

function emptyIfMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
