import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Account, accountOf, canReach, currentAccount, unprivilegedAccount } from './database-account.ts';
import { EmbeddedDatabaseError, errno, remedyFor } from './embedded-database-error.ts';

/** The folder of a database, and the users that keeper and PostgreSQL run as. */
export interface DataFolder {
  /** Absolute, without symbolic links. */
  readonly dataDir: string;
  /** The user of the keeper: that of this process or, when this process is root, the owner of the keeper's folder. */
  readonly keeper: Account;
  /** The user of PostgreSQL: the keeper's user, unless that is root. */
  readonly account: Account;
}

/** The cluster: PostgreSQL's own folder, owned by PostgreSQL's user. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'postgres');

/** The keeper's folder: registrations, access rules, sockets, copied binaries. Owned by the keeper's user. */
export const keeperFolder = (dataDir: string): string => join(dataDir, 'keeper');

/** The log of PostgreSQL and the keeper. */
export const logFile = (dataDir: string): string => join(dataDir, 'postgres.log');

/** Parent of the fallback folders, used when root requests a folder that PostgreSQL's user cannot reach. */
const fallbackParent = '/var/lib/countersign';

/** A stable short name for a folder. */
export function folderHash(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 12);
}

/**
 * Chooses the folder for the data and creates it. Calls `notify` if it is not the requested one.
 * @param mayCreate false: throws if there is no database, and creates nothing
 */
export function resolveDataFolder(requested: string, notify: (line: string) => void, mayCreate: boolean): DataFolder {
  const absolute = resolve(requested);
  try {
    if (!mayCreate && !holdsDatabase(absolute))
      throw new EmbeddedDatabaseError(
        'cluster_missing',
        `there is no database in ${absolute}: go to the folder that it was started in, or set COUNTERSIGN_DATA_DIR to its data folder; ` +
          '`serve` and `workspace create` make a new one',
      );
    makeReachableFolder(absolute);
    const dataDir = realpathSync(absolute);
    const self = currentAccount();
    const chosen = self.uid === 0 ? reachableFolder(dataDir, notify) : dataDir;
    makeReachableFolder(keeperFolder(chosen));
    const keeper = ownerOf(keeperFolder(chosen), self);
    return { dataDir: chosen, keeper, account: keeper.uid === 0 ? postgresAccount(chosen) : keeper };
  } catch (error) {
    const code = errno(error);
    if (error instanceof EmbeddedDatabaseError || code === undefined) throw error;
    const remedy = `${remedyFor(absolute, code)}, or choose another with COUNTERSIGN_DATA_DIR`;
    throw new EmbeddedDatabaseError('unreachable_folder', `the data folder ${absolute} cannot be used (${code}): ${remedy}`);
  }
}

const fallbackFolderOf = (dataDir: string): string => join(fallbackParent, folderHash(dataDir));

/** Whether there is a database in the folder or, for root, in its fallback folder. */
function holdsDatabase(absolute: string): boolean {
  const dataDir = existsSync(absolute) ? realpathSync(absolute) : absolute;
  const candidates = currentAccount().uid === 0 ? [dataDir, fallbackFolderOf(dataDir)] : [dataDir];
  return candidates.some((folder) => statOrUndefined(clusterFolder(folder)) !== undefined);
}

/**
 * As root: the folder that holds the database. Without a database: the folder itself if PostgreSQL's user can reach it, else its fallback
 * folder. Throws if PostgreSQL's user cannot reach an existing database, or can reach neither folder.
 */
function reachableFolder(dataDir: string, notify: (line: string) => void): string {
  const fallback = fallbackFolderOf(dataDir);
  const reachable = canReach(postgresAccount(dataDir), dataDir);
  if (existsSync(clusterFolder(dataDir))) {
    if (reachable) return dataDir;
    // An empty database elsewhere would look as if the data of this one were lost.
    throw new EmbeddedDatabaseError(
      'unreachable_folder',
      `the database in ${dataDir} runs as the user "${postgresAccount(dataDir).name}", who can no longer reach it: ` +
        'give that user the right to enter every folder above it (chmod o+x), or move it',
    );
  }
  // A database in the fallback folder stays there, even if the requested folder has become reachable since.
  if (reachable && !existsSync(clusterFolder(fallback))) return dataDir;
  makeReachableFolder(fallback);
  if (!canReach(postgresAccount(fallback), fallback)) {
    throw new EmbeddedDatabaseError(
      'unreachable_folder',
      `PostgreSQL does not run as root, and the user "${postgresAccount(fallback).name}" reaches neither ${dataDir} nor ${fallback}: ` +
        'set COUNTERSIGN_DATA_DIR to a folder that every user can enter',
    );
  }
  notify(`the database is in ${fallback}: PostgreSQL does not run as root, and the user it runs as cannot reach ${dataDir}`);
  return fallback;
}

/** As root: the owner of the existing cluster, else the user that will own a new one. */
function postgresAccount(dataDir: string): Account {
  const cluster = statOrUndefined(clusterFolder(dataDir));
  if (cluster === undefined) return unprivilegedAccount();
  if (cluster.uid !== 0) return accountOf(cluster.uid);
  const { name } = unprivilegedAccount();
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `${clusterFolder(dataDir)} belongs to root, and PostgreSQL does not run as root: chown -R ${name} ${clusterFolder(dataDir)}`,
  );
}

function ownerOf(folder: string, self: Account): Account {
  const stats = lstatSync(folder);
  if (!stats.isDirectory())
    throw new EmbeddedDatabaseError('foreign_folder', `${folder} is not a folder: move it out of the way`);
  if (stats.uid === self.uid) return self;
  if (self.uid === 0) return accountOf(stats.uid);
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `the database in ${dirname(folder)} belongs to the user with uid ${stats.uid}: ` +
      'run as that user or as root, or choose another folder with COUNTERSIGN_DATA_DIR',
  );
}

/** Creates the folder if missing. Root's umask may be 077, with which PostgreSQL's user could not enter it. */
function makeReachableFolder(folder: string): void {
  const made = makeFolders(folder);
  if (process.geteuid?.() === 0) for (const each of made) chmodSync(each, 0o755);
}

/** Creates the folder and its parents, and returns those created. Node's recursive mkdir never ends below /proc. */
function makeFolders(folder: string): string[] {
  if (existsSync(folder)) return [];
  const made = makeFolders(dirname(folder));
  try {
    mkdirSync(folder);
    return [...made, folder];
  } catch (error) {
    if (errno(error) === 'EEXIST') return made; // another process was faster
    throw error;
  }
}

function statOrUndefined(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
