import { setTimeout as sleep } from 'node:timers/promises';
import { databaseName, roles } from './access-rules.ts';
import { findPackage } from './binaries.ts';
import { resolveDataFolder } from './data-folder.ts';
import { acquireLease } from './lease.ts';

export { EmbeddedDatabaseError, type EmbeddedDatabaseErrorCode } from './embedded-database-error.ts';

/** Connection settings for `pg`. There is no password, because the kernel reports the user of each connection. */
export interface ConnectionSettings {
  /** The folder of the Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** A lease on the embedded PostgreSQL. */
export interface EmbeddedDatabase {
  /** The role that owns and migrates the database `countersign`. */
  readonly owner: ConnectionSettings;
  /** The role that the server uses in normal operation: neither owner nor superuser. */
  readonly server: ConnectionSettings;
  /** For tests and repair only. */
  readonly superuser: ConnectionSettings;
  /**
   * The absolute path of the data folder. If PostgreSQL's user could not reach the requested folder, this is another folder, and `notify`
   * receives a message.
   */
  readonly dataDir: string;
  /**
   * Releases the lease. The release of the last lease shuts PostgreSQL down, and the promise resolves when PostgreSQL has stopped, or after
   * nine seconds. While other processes have leases, PostgreSQL keeps running, and the promise resolves without waiting for its end. If
   * this process started a keeper that still runs, the promise also waits for the end of that keeper, at most about five seconds.
   */
  release(): Promise<void>;
}

/** Options of acquireEmbeddedDatabase. */
export interface EmbeddedDatabaseOptions {
  readonly dataDir: string;
  /** Receives messages for people, for example about a new database, a folder other than the requested one, or a restart. */
  readonly notify: (line: string) => void;
  /** false: a folder without a database is an error, and nothing is created in it. Default true. */
  readonly mayCreate?: boolean;
  /** Additional settings for PostgreSQL (`postgres -c`). They apply if this process starts the keeper. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The first and the longest pause between attempts to replace a lost lease. Both are short, because the cause may end at any time. */
const firstPauseMs = 50;
const longestPauseMs = 2_000;

/** How often a database that stays down is reported. */
const reportEveryMs = 60_000;

/**
 * Acquires the embedded PostgreSQL of a data folder. Starts it if it is stopped, and creates it if it is missing and `mayCreate` is true.
 * All processes that have acquired the database share it. The end of this process, for any reason, releases the lease.
 * @throws EmbeddedDatabaseError if the database is not available
 */
export async function acquireEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const { notify, settings = {}, mayCreate = true } = options;
  // Checked first, so that nothing is created on an unsupported platform.
  findPackage();
  const folder = resolveDataFolder(options.dataDir, notify, mayCreate);
  let lease = await acquireLease(folder, { settings, mayCreate }, notify);
  const cancellation = new AbortController();
  let reacquiring: Promise<void> | undefined;
  let released: Promise<void> | undefined;

  /** Gets a lease again after the keeper has ended. PostgreSQL ends with its keeper, and the next keeper starts it on the same socket. */
  async function reacquire(): Promise<void> {
    let reportAt = 0;
    for (let pauseMs = firstPauseMs; !cancellation.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        lease = await acquireLease(folder, { settings, mayCreate: false }, notify, cancellation.signal);
        notify('the embedded PostgreSQL is back');
        return reacquireWhenLost();
      } catch (error) {
        if (cancellation.signal.aborted) return;
        if (Date.now() >= reportAt) {
          reportAt = Date.now() + reportEveryMs;
          notify(`the embedded PostgreSQL is down, trying again: ${error instanceof Error ? error.message : error}`);
        }
        await sleep(pauseMs, undefined, { ref: false, signal: cancellation.signal }).catch(() => {});
      }
    }
  }

  function reacquireWhenLost(): void {
    void lease.lost.then(() => {
      if (!cancellation.signal.aborted) reacquiring = reacquire();
    });
  }

  async function release(): Promise<void> {
    cancellation.abort();
    await reacquiring;
    await lease.release();
  }

  reacquireWhenLost();
  const settingsFor = (user: string): ConnectionSettings => ({
    host: lease.host,
    port: lease.port,
    user,
    database: databaseName,
  });
  return {
    owner: settingsFor(roles.owner),
    server: settingsFor(roles.server),
    superuser: settingsFor(roles.superuser),
    dataDir: folder.dataDir,
    release: () => {
      released ??= release();
      return released;
    },
  };
}
