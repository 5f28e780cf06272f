import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Account, accountOf, canReach, currentAccount, unprivilegedAccount } from './database-account.ts';
import { EmbeddedDatabaseError, errno, remedyFor } from './embedded-database-error.ts';

/** The data folder of a database, and the users that the keeper and PostgreSQL run as. */
export interface DataFolder {
  /** Absolute, without symbolic links. */
  readonly dataDir: string;
  /** The user of the keeper: the user of this process or, if that is root, the owner of the keeper's folder. */
  readonly keeper: Account;
  /** The user of PostgreSQL: the keeper's user or, if that is root, the owner of the cluster or an unprivileged user. */
  readonly account: Account;
}

/** The cluster: PostgreSQL's own folder, owned by PostgreSQL's user. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'postgres');

/** The keeper's folder: registrations, access rules, copied programs and, if its path is short enough, sockets. */
export const keeperFolder = (dataDir: string): string => join(dataDir, 'keeper');

/** The log of PostgreSQL and the keeper. */
export const logFile = (dataDir: string): string => join(dataDir, 'postgres.log');

/** The parent of the fallback folders. They are used if root requests a folder that PostgreSQL's user cannot reach. */
const fallbackParent = '/var/lib/countersign';

/** A short name for a folder: the first 12 hexadecimal digits of the SHA-256 of its path. */
export function folderHash(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 12);
}

/**
 * Chooses the data folder and creates it. Calls `notify` if it chooses the fallback folder.
 * @param mayCreate false: if there is no database, throws and creates nothing
 * @throws EmbeddedDatabaseError if the folder or a user cannot be used, or there is no database and `mayCreate` is false
 */
export function resolveDataFolder(requested: string, notify: (line: string) => void, mayCreate: boolean): DataFolder {
  const absolute = resolve(requested);
  try {
    if (!mayCreate && !hasDatabase(absolute))
      throw new EmbeddedDatabaseError(
        'cluster_missing',
        `there is no database in ${absolute}: run the command in the folder where the server was started, ` +
          "or set COUNTERSIGN_DATA_DIR to the server's data folder; `serve` and `workspace create` create a new database",
      );
    makeReachableFolder(absolute);
    const dataDir = realpathSync(absolute);
    const self = currentAccount();
    const chosen = self.uid === 0 ? reachableFolder(dataDir, notify) : dataDir;
    makeReachableFolder(keeperFolder(chosen));
    const keeper = ownerOf(keeperFolder(chosen), self);
    return { dataDir: chosen, keeper, account: keeper.uid === 0 ? postgresAccount(chosen) : ownerOfCluster(chosen, keeper) };
  } catch (error) {
    const code = errno(error);
    if (error instanceof EmbeddedDatabaseError || code === undefined) throw error;
    const remedy = `${remedyFor(absolute, code)}, or choose another folder with COUNTERSIGN_DATA_DIR`;
    throw new EmbeddedDatabaseError('unreachable_folder', `the data folder ${absolute} cannot be used (${code}): ${remedy}`);
  }
}

const fallbackFolderOf = (dataDir: string): string => join(fallbackParent, folderHash(dataDir));

/** Whether there is a database in the folder or, for root, in its fallback folder. */
function hasDatabase(absolute: string): boolean {
  const dataDir = existsSync(absolute) ? realpathSync(absolute) : absolute;
  const candidates = currentAccount().uid === 0 ? [dataDir, fallbackFolderOf(dataDir)] : [dataDir];
  return candidates.some((folder) => statOrUndefined(clusterFolder(folder)) !== undefined);
}

/**
 * As root: returns the folder that contains the database. If there is no database, returns `dataDir` if PostgreSQL's user can reach it,
 * else the fallback folder of `dataDir`. Throws if PostgreSQL's user cannot reach the folder to return.
 */
function reachableFolder(dataDir: string, notify: (line: string) => void): string {
  const fallback = fallbackFolderOf(dataDir);
  const isReachable = canReach(postgresAccount(dataDir), dataDir);
  if (existsSync(clusterFolder(dataDir))) {
    if (isReachable) return dataDir;
    // If a new database were created in the fallback folder, the data of this database would seem to be lost.
    throw new EmbeddedDatabaseError(
      'unreachable_folder',
      `PostgreSQL runs as the user "${postgresAccount(dataDir).name}", who can no longer reach the database in ${dataDir}: ` +
        'let this user enter that folder and every folder above it (chmod o+x), or move the database',
    );
  }
  // A database in the fallback folder stays there, even if PostgreSQL's user can reach the requested folder by now.
  if (isReachable && !existsSync(clusterFolder(fallback))) return dataDir;
  makeReachableFolder(fallback);
  const account = postgresAccount(fallback);
  if (!canReach(account, fallback)) {
    const message = existsSync(clusterFolder(fallback))
      ? `the database is in ${fallback}, which the user "${account.name}" of PostgreSQL cannot enter: ` +
        'let this user enter that folder and every folder above it (chmod o+x)'
      : `PostgreSQL does not run as root, and the user "${account.name}" can enter neither ${dataDir} nor ${fallback}: ` +
        'set COUNTERSIGN_DATA_DIR to a folder that every user can enter';
    throw new EmbeddedDatabaseError('unreachable_folder', message);
  }
  notify(
    `the database is in ${fallback}: PostgreSQL does not run as root, and its user could not reach ${dataDir} at the first start`,
  );
  return fallback;
}

/** As root: the owner of the cluster, or the user that will own a new one. Throws if there is no such user, or if root owns the cluster. */
function postgresAccount(dataDir: string): Account {
  const cluster = statOrUndefined(clusterFolder(dataDir));
  if (cluster === undefined) return unprivilegedAccount();
  if (cluster.uid !== 0) return accountOf(cluster.uid);
  const { name } = unprivilegedAccount();
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `${clusterFolder(dataDir)} belongs to root, and PostgreSQL does not run as root: run chown -R ${name} ${clusterFolder(dataDir)}`,
  );
}

/** Returns the keeper's user. Throws if another user owns the cluster, because the keeper cannot read that user's files. */
function ownerOfCluster(dataDir: string, keeper: Account): Account {
  const cluster = clusterFolder(dataDir);
  const stats = statOrUndefined(cluster);
  if (stats === undefined || stats.uid === keeper.uid) return keeper;
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `${cluster} belongs to the user with uid ${stats.uid}, but the database runs as the owner of ${keeperFolder(dataDir)}, ` +
      `uid ${keeper.uid}: as root, run chown -R ${keeper.uid} ${cluster}`,
  );
}

function ownerOf(folder: string, self: Account): Account {
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw new EmbeddedDatabaseError('foreign_folder', `${folder} is not a folder: remove or rename it`);
  if (stats.uid === self.uid) return self;
  if (self.uid === 0) return accountOf(stats.uid);
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `the database in ${dirname(folder)} belongs to the user with uid ${stats.uid}: ` +
      'run the command as that user or as root, or choose another folder with COUNTERSIGN_DATA_DIR',
  );
}

/** Creates the folder and its missing parents. As root it sets their modes, because with the umask 077 no other user could enter them. */
function makeReachableFolder(folder: string): void {
  const createdFolders = makeFolders(folder);
  if (process.geteuid?.() === 0) for (const each of createdFolders) chmodSync(each, 0o755);
}

/**
 * Creates the folder and its missing parents, and returns the created folders. It does not use Node's recursive mkdir, which never returns
 * below /proc.
 */
function makeFolders(folder: string): string[] {
  if (existsSync(folder)) return [];
  const createdParents = makeFolders(dirname(folder));
  try {
    mkdirSync(folder);
    return [...createdParents, folder];
  } catch (error) {
    if (errno(error) === 'EEXIST') return createdParents; // another process has just created it
    throw error;
  }
}

function statOrUndefined(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
