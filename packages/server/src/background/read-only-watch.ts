import type { Logger } from 'pino';
import { isDatabaseUnavailable } from '../database/pool.ts';
import type { Pools } from '../database/pools.ts';
import { isReadOnly } from '../storage/own-role.ts';

const SAMPLE_MS = 2_000;

/** Watches whether the database accepts writes. */
export interface ReadOnlyWatch {
  /** A warning while the database is read-only, otherwise undefined. */
  readonly summary: string | undefined;
  stop(): void;
}

/** Asks the database every two seconds whether it is read-only, like a replica before its promotion. Logs each change. */
export function watchReadOnly({ lookupPool }: Pick<Pools, 'lookupPool'>, log: Logger): ReadOnlyWatch {
  let isReading = false;
  let summary: string | undefined;
  const sample = async () => {
    if (isReading) return;
    isReading = true;
    try {
      const currentSummary = (await isReadOnly(lookupPool))
        ? 'the database is read-only: records and promotion checks get 503'
        : undefined;
      if (currentSummary !== summary) log.warn(currentSummary ?? 'the database accepts writes again');
      summary = currentSummary;
    } catch (error) {
      // /readyz reports an unreachable database, and so does every request that needs it.
      if (!isDatabaseUnavailable(error)) log.warn({ err: error }, 'cannot determine whether the database is read-only');
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => void sample(), SAMPLE_MS).unref();
  void sample();
  return {
    get summary() {
      return summary;
    },
    stop: () => clearInterval(timer),
  };
}
