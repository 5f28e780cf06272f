import { setTimeout as sleep } from 'node:timers/promises';
import { schemaLevel } from '../database/migrate.ts';
import { sharedResult } from '../http/shared-result.ts';
import type { OpenDatabase } from './open-database.ts';

/** How long a probe waits for the database. Probes commonly give up after one to two seconds. */
const WAIT_MS_MAX = 1_000;

/** Whether the server can serve. Asked by anybody, so there is one look at the database at a time, which all who ask share. */
export class Readiness {
  readonly #look: () => Promise<string | undefined>;

  /** @param look resolves with why the server is not ready, or undefined. */
  constructor(look: () => Promise<string | undefined>) {
    this.#look = sharedResult(0, look);
  }

  /** Why the server is not ready, or undefined when it is. Resolves in time, whatever the database does. */
  async reason(): Promise<string | undefined> {
    const waiting = new AbortController();
    const late = sleep(WAIT_MS_MAX, `the database has not answered within ${WAIT_MS_MAX} ms`, {
      ref: false,
      signal: waiting.signal,
    }).catch(() => undefined);
    try {
      return await Promise.race([this.#look(), late]);
    } finally {
      waiting.abort();
    }
  }
}

/** Ready means: the database answers, and its schema is this server's. */
export function databaseReadiness({ lookupPool }: Pick<OpenDatabase, 'lookupPool'>): Readiness {
  return new Readiness(async () => {
    try {
      const level = await schemaLevel(lookupPool);
      if (level === 'current') return undefined;
      return level === 'empty' ? 'the database is empty' : `the database's schema is ${level} than this server's`;
    } catch {
      return 'the database does not answer';
    }
  });
}
