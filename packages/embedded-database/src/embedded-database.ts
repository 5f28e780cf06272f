import { setTimeout as sleep } from 'node:timers/promises';
import { databaseName, roles } from './access-rules.ts';
import { findPackage } from './binaries.ts';
import { settleDataFolder } from './data-folder.ts';
import { takeLease } from './lease.ts';

export { EmbeddedDatabaseError, type EmbeddedDatabaseErrorCode } from './embedded-database-error.ts';

/** How to connect: what `pg` takes. There is no password; the kernel says who connects. */
export interface ConnectionSettings {
  /** The folder of the Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** A lease on the embedded PostgreSQL. */
export interface EmbeddedDatabase {
  /** Owns the database `countersign`, migrates. */
  readonly owner: ConnectionSettings;
  /** The server's everyday role: neither owner nor superuser. */
  readonly server: ConnectionSettings;
  /** For tests and repair only. */
  readonly superuser: ConnectionSettings;
  /** Where the data really is. May differ from what was asked; then `say` has said so. */
  readonly dataDir: string;
  /**
   * Lets go. PostgreSQL is stopped, in order, when nobody else holds it; resolves when that is done, or at once if others do.
   * Takes nine seconds at most, also with open connections, which are closed; five more while a keeper that is not needed is starting.
   */
  release(): Promise<void>;
}

/** What to acquire. */
export interface EmbeddedDatabaseOptions {
  readonly dataDir: string;
  /** Hears, in whole lines, what people should know: the first creation, another folder than asked, a restart. */
  readonly say: (line: string) => void;
  /** false: a folder without a database is refused, and nothing is made in it. Default true. */
  readonly mayCreate?: boolean;
  /** Extra settings for PostgreSQL (`postgres -c`). They count for whoever comes first, and starts it. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Pauses between tries to get a lost lease back. Whatever was in the way, such as a full disk, may be gone at any moment, so the pause
 * stays short.
 */
const firstPauseMs = 50;
const longestPauseMs = 2_000;

/** How often a database that stays down is reported. */
const reportEveryMs = 60_000;

/**
 * The embedded PostgreSQL of a data folder: created at the first call that may, started if it does not run, shared with every process
 * that has acquired it. When this process ends without `release`, in whatever way, that counts as one.
 */
export async function acquireEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const { say, settings = {}, mayCreate = true } = options;
  // Before anything is made on a machine that cannot have it.
  findPackage();
  const folder = settleDataFolder(options.dataDir, say, mayCreate);
  let lease = await takeLease(folder, { settings, mayCreate }, say);
  const letGo = new AbortController();
  let retaking: Promise<void> | undefined;
  let released: Promise<void> | undefined;

  /** The keeper was killed: PostgreSQL goes down with it, and comes back, on the same socket, with the next one. */
  async function retake(): Promise<void> {
    let reportAt = 0;
    for (let pauseMs = firstPauseMs; !letGo.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        lease = await takeLease(folder, { settings, mayCreate: false }, say, letGo.signal);
        say('the embedded PostgreSQL is back');
        return watch();
      } catch (error) {
        if (letGo.signal.aborted) return;
        if (Date.now() >= reportAt) {
          reportAt = Date.now() + reportEveryMs;
          say(`the embedded PostgreSQL is down, trying again: ${error instanceof Error ? error.message : error}`);
        }
        await sleep(pauseMs, undefined, { ref: false, signal: letGo.signal }).catch(() => {});
      }
    }
  }

  function watch(): void {
    void lease.lost.then(() => {
      if (!letGo.signal.aborted) retaking = retake();
    });
  }

  async function release(): Promise<void> {
    letGo.abort();
    await retaking;
    await lease.release();
  }

  watch();
  const as = (user: string): ConnectionSettings => ({ host: lease.host, port: lease.port, user, database: databaseName });
  return {
    owner: as(roles.owner),
    server: as(roles.server),
    superuser: as(roles.superuser),
    dataDir: folder.dataDir,
    release: () => {
      released ??= release();
      return released;
    },
  };
}
