import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ExitError } from '../errors/exit-codes.ts';
import { nameFile, syncFolder, writeSynced } from '../files/synced-files.ts';
import { paddingOf, TAR_BLOCK_BYTES, tarHeader } from './tar-format.ts';

/** The mode of the files of a backup: only the user of this process can read them. */
const OWNER_ONLY = 0o600;

/** The target of a backup: a folder, or one tar archive. */
export interface BackupWriter {
  /** Adds a file. The name must not be in use. */
  add(name: string, content: Uint8Array): Promise<void>;
  /** Completes the backup. Resolves when all files would survive a crash. */
  finish(): Promise<void>;
  /** Removes the written files, and the folder if this backup created it. */
  discard(): Promise<void>;
}

/**
 * Creates a backup: in an existing empty folder, in a new folder if the path ends in a slash, or as one file. Existing files are not
 * overwritten (but see `nameFile`), because they may be the only good backup.
 * @param modifiedAt the modification time of the files in an archive.
 * @throws ExitError `wrong_use` if the path is in use, the folder is not empty, or nothing can be written there.
 */
export async function createBackup(path: string, modifiedAt: Date): Promise<BackupWriter> {
  try {
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isDirectory() === true || path.endsWith('/')) return await folderWriter(path, stats !== undefined);
    if (stats !== undefined) throw alreadyExists(path);
    return await tarWriter(path, modifiedAt);
  } catch (error) {
    if (error instanceof ExitError) throw error;
    throw cannotWrite(path, error);
  }
}

async function folderWriter(path: string, exists: boolean): Promise<BackupWriter> {
  if (!exists) await mkdir(path, { mode: 0o700 });
  if ((await readdir(path)).length > 0)
    throw new ExitError('wrong_use', `the folder ${JSON.stringify(path)} is not empty; give another folder`);
  const writtenNames: string[] = [];
  return {
    add: async (name, content) => {
      await writeSynced(join(path, name), content, OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
        // A file that another process has created is kept.
        if (error.code !== 'EEXIST') writtenNames.push(name);
        throw cannotWrite(path, error);
      });
      writtenNames.push(name);
    },
    finish: async () => {
      await syncFolder(path);
      if (!exists) await syncFolder(dirname(path));
    },
    discard: async () => {
      for (const name of writtenNames) await rm(join(path, name), { force: true });
      if (!exists) await rm(path, { recursive: true, force: true });
    },
  };
}

async function tarWriter(path: string, modifiedAt: Date): Promise<BackupWriter> {
  // The name is random, because a killed command may have left its file. In containers even the process IDs of two commands can be equal.
  const temporary = `${path}.${randomBytes(6).toString('hex')}.partial`;
  const file = await open(temporary, 'wx', OWNER_ONLY);
  const write = (bytes: Uint8Array) =>
    file.writeFile(bytes).catch((error: unknown) => {
      throw cannotWrite(path, error);
    });
  return {
    add: async (name, content) => {
      await write(tarHeader(name, content.length, modifiedAt));
      await write(content);
      await write(Buffer.alloc(paddingOf(content.length)));
    },
    finish: async () => {
      await write(Buffer.alloc(2 * TAR_BLOCK_BYTES));
      await file.sync();
      await file.close();
      if (!(await nameFile(temporary, path))) throw alreadyExists(path);
      await rm(temporary, { force: true });
      await syncFolder(dirname(path));
    },
    discard: async () => {
      await file.close().catch(() => undefined);
      await rm(temporary, { force: true });
    },
  };
}

const alreadyExists = (path: string): ExitError =>
  new ExitError('wrong_use', `${JSON.stringify(path)} exists; give another name`);

function cannotWrite(path: string, error: unknown): ExitError {
  return new ExitError('wrong_use', `cannot write ${JSON.stringify(path)}: ${(error as Error).message}`, { cause: error });
}
