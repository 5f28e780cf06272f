import { chmodSync, chownSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderHash, keeperFolder } from './data-folder.ts';
import type { Account } from './database-account.ts';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';

/** The longest path of a Unix socket in bytes: 107 on Linux, 103 on macOS. */
const longestSocketPathBytes = 103;

/** The longest path of a socket below a socket folder. */
const longestSubpath = '/socket/.s.PGSQL.5432';

/**
 * The folders in which this data folder's sockets may be, in order of preference. The keeper's folder in the data folder is first, because
 * every client can see it, even a service with a private /tmp. The other folders are used if the path of the keeper's folder is too long,
 * or if its file system does not support sockets.
 */
export function socketFolders(dataDir: string): string[] {
  const name = `countersign-${folderHash(dataDir)}`;
  return [...new Set([keeperFolder(dataDir), join(tmpdir(), name), join('/tmp', name)])].filter(
    (folder) => Buffer.byteLength(folder + longestSubpath) <= longestSocketPathBytes,
  );
}

/**
 * Creates the folder of the keeper's socket, or corrects the mode of an existing one. If root owns it, other users can enter it, because
 * the folder of PostgreSQL's socket is in it.
 * @throws EmbeddedDatabaseError if the path is not a folder of this user
 */
export function makeSocketFolder(folder: string): void {
  const mode = process.geteuid?.() === 0 ? 0o755 : 0o700;
  makeOwnedFolder(folder, mode, process.geteuid?.() ?? -1);
}

/**
 * Creates the folder of PostgreSQL's socket and returns its path. PostgreSQL's user owns it, with mode 0700. Other users except root cannot
 * even attempt to connect.
 * @throws EmbeddedDatabaseError if the path is not a folder of PostgreSQL's user
 */
export function makePostgresSocketFolder(socketFolder: string, account: Account): string {
  const folder = join(socketFolder, 'socket');
  if (makeFolder(folder) && process.geteuid?.() === 0) chownSync(folder, account.uid, account.gid);
  makeOwnedFolder(folder, 0o700, account.uid);
  return folder;
}

function makeOwnedFolder(folder: string, mode: number, owner: number): void {
  makeFolder(folder);
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== owner) {
    const fault = stats.isDirectory() ? `belongs to uid ${stats.uid}` : 'is not a folder';
    throw new EmbeddedDatabaseError('foreign_folder', `${folder} is needed for the database's socket, but ${fault}: remove it`);
  }
  if ((stats.mode & 0o777) !== mode) chmodSync(folder, mode);
}

/** Creates a folder. Returns false if it existed. */
function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if (errno(error) === 'EEXIST') return false;
    throw error;
  }
}
