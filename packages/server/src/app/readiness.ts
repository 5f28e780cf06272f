import { setTimeout as sleep } from 'node:timers/promises';
import { schemaLevel } from '../database/migrate.ts';
import { sharedResult } from '../http/shared-result.ts';
import type { OpenDatabase } from './open-database.ts';

/** The longest time that a check waits for the database. Probes of orchestrators commonly time out after one to two seconds. */
const WAIT_MS_MAX = 1_000;

/** Whether the server can serve requests. The endpoint is public, so concurrent callers share one query. */
export class Readiness {
  readonly #check: () => Promise<string | undefined>;

  /** @param check resolves with the reason why the server is not ready, or with undefined if it is ready. */
  constructor(check: () => Promise<string | undefined>) {
    this.#check = sharedResult(0, check);
  }

  /** Why the server is not ready; undefined if it is ready. Resolves after WAIT_MS_MAX at the latest, even if the database hangs. */
  async reason(): Promise<string | undefined> {
    const timeoutAbort = new AbortController();
    const timeout = sleep(WAIT_MS_MAX, `the database has not responded within ${WAIT_MS_MAX} ms`, {
      ref: false,
      signal: timeoutAbort.signal,
    }).catch(() => undefined);
    try {
      return await Promise.race([this.#check(), timeout]);
    } finally {
      timeoutAbort.abort();
    }
  }
}

/** The server is ready if the database responds and has exactly the migrations of this server. */
export function databaseReadiness({ lookupPool }: Pick<OpenDatabase, 'lookupPool'>): Readiness {
  return new Readiness(async () => {
    try {
      const level = await schemaLevel(lookupPool);
      if (level === 'current') return undefined;
      if (level === 'empty') return 'the database has no tables of Countersign, or this role may not read them';
      if (level === 'unreleased') return 'the database is from a version before 0.1.0';
      return `the database's schema is ${level} than this server's`;
    } catch {
      return 'the database does not respond, or cannot be used';
    }
  });
}
