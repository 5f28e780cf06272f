import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Account, accountOf, canReach, currentAccount, unprivilegedAccount } from './database-account.ts';
import { EmbeddedDatabaseError, errno, remedyFor } from './embedded-database-error.ts';

/** Where a database lives and who runs it. */
export interface DataFolder {
  /** Absolute, without symbolic links. */
  readonly dataDir: string;
  /** Whom the keeper runs as: this process, or, when this process is root, whoever made the folder. */
  readonly keeper: Account;
  /** Whom PostgreSQL runs as: the keeper's user, unless that is root. */
  readonly account: Account;
}

/** The cluster: PostgreSQL's own folder, of PostgreSQL's user. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'postgres');

/** The keeper's folder: leases, access rules, sockets, binaries that had to be copied. Of the keeper's user. */
export const keeperFolder = (dataDir: string): string => join(dataDir, 'keeper');

/** What PostgreSQL and the keeper say. */
export const logFile = (dataDir: string): string => join(dataDir, 'postgres.log');

/** Where the data goes when root asks for a folder that PostgreSQL's user cannot reach. */
const fallbackParent = '/var/lib/countersign';

/** A stable short name for a folder. */
export function folderHash(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 12);
}

/**
 * Decides where the data asked for really goes, and makes the folders. `say` hears when it is not where it was asked.
 * @param mayCreate false: nothing is made where no database is.
 */
export function settleDataFolder(asked: string, say: (line: string) => void, mayCreate: boolean): DataFolder {
  const absolute = resolve(asked);
  try {
    if (!mayCreate && !holdsDatabase(absolute))
      throw new EmbeddedDatabaseError(
        'cluster_missing',
        `there is no database in ${absolute}: go to the folder that it was started in, or name its data folder with COUNTERSIGN_DATA_DIR; ` +
          '`serve` and `workspace create` make a new one',
      );
    makeReachableFolder(absolute);
    const dataDir = realpathSync(absolute);
    const self = currentAccount();
    const settled = self.uid === 0 ? reachableFolder(dataDir, say) : dataDir;
    makeReachableFolder(keeperFolder(settled));
    const keeper = ownerOf(keeperFolder(settled), self);
    return { dataDir: settled, keeper, account: keeper.uid === 0 ? postgresAccount(settled) : keeper };
  } catch (error) {
    const code = errno(error);
    if (error instanceof EmbeddedDatabaseError || code === undefined) throw error;
    const remedy = `${remedyFor(absolute, code)}, or choose another with COUNTERSIGN_DATA_DIR`;
    throw new EmbeddedDatabaseError('unreachable_folder', `the data folder ${absolute} cannot be used (${code}): ${remedy}`);
  }
}

const standInOf = (dataDir: string): string => join(fallbackParent, folderHash(dataDir));

/** Whether there is a database in the folder, or for root in its stand-in. */
function holdsDatabase(absolute: string): boolean {
  const dataDir = existsSync(absolute) ? realpathSync(absolute) : absolute;
  const places = currentAccount().uid === 0 ? [dataDir, standInOf(dataDir)] : [dataDir];
  return places.some((place) => statOrUndefined(clusterFolder(place)) !== undefined);
}

/** As root: the folder itself when PostgreSQL's user can walk to it, else the stand-in for it. */
function reachableFolder(dataDir: string, say: (line: string) => void): string {
  const standIn = standInOf(dataDir);
  const reachable = canReach(postgresAccount(dataDir), dataDir);
  if (existsSync(clusterFolder(dataDir))) {
    if (reachable) return dataDir;
    // Starting an empty database elsewhere would look like the loss of everything in this one.
    throw new EmbeddedDatabaseError(
      'unreachable_folder',
      `the database in ${dataDir} runs as the user "${postgresAccount(dataDir).name}", who can no longer reach it: ` +
        'give that user the right to enter every folder above it (chmod o+x), or move it',
    );
  }
  // Once the data is in the stand-in it stays there, even if the folder asked for has become reachable since.
  if (reachable && !existsSync(clusterFolder(standIn))) return dataDir;
  makeReachableFolder(standIn);
  if (!canReach(postgresAccount(standIn), standIn)) {
    throw new EmbeddedDatabaseError(
      'unreachable_folder',
      `PostgreSQL does not run as root, and the user "${postgresAccount(standIn).name}" reaches neither ${dataDir} nor ${standIn}: ` +
        'choose a folder below one that everybody can enter with COUNTERSIGN_DATA_DIR',
    );
  }
  say(`the database is in ${standIn}: PostgreSQL does not run as root, and the user it runs as cannot reach ${dataDir}`);
  return standIn;
}

/** As root: the owner of the cluster that is there, else whom a new one will belong to. */
function postgresAccount(dataDir: string): Account {
  const cluster = statOrUndefined(clusterFolder(dataDir));
  if (cluster === undefined) return unprivilegedAccount();
  if (cluster.uid !== 0) return accountOf(cluster.uid);
  const { name } = unprivilegedAccount();
  throw new EmbeddedDatabaseError(
    'foreign_folder',
    `${clusterFolder(dataDir)} belongs to root, as whom PostgreSQL does not run: chown -R ${name} ${clusterFolder(dataDir)}`,
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

/** Makes the folder if it is not there. Root's umask may be 077, and then PostgreSQL's user could not pass. */
function makeReachableFolder(folder: string): void {
  const made = makeFolders(folder);
  if (process.geteuid?.() === 0) for (const each of made) chmodSync(each, 0o755);
}

/** Makes the folder and those above it, one at a time, and returns those made. Node's own recursive way never ends below /proc. */
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
