import type { Logger } from 'pino';
import { describeFault } from '../database/clock.ts';
import { isDatabaseUnavailable } from '../database/pool.ts';
import type { Pools } from '../database/pools.ts';
import { readClockOf } from '../storage/clock.ts';

const SAMPLE_MS = 1_000;

/** Watches the clocks of a running server. */
export interface ClockWatch {
  stop(): void;
}

/**
 * About once a second, compares the server's clock with the monotonic clock and with the database's clock. Logs when the kind of fault
 * changes.
 */
export function watchClock({ clock, lookupPool }: Pick<Pools, 'clock' | 'lookupPool'>, log: Logger): ClockWatch {
  let isReading = false;
  let lastKind: string | undefined;
  const report = () => {
    const fault = clock.fault();
    if (fault?.kind === lastKind) return;
    lastKind = fault?.kind;
    if (fault === undefined) log.warn('the clocks are right again; records are accepted again');
    else log.error({ kind: fault.kind, aheadMs: Math.round(fault.aheadMs) }, `clock unsafe: ${describeFault(fault)}`);
  };
  const sample = async () => {
    report();
    if (isReading) return;
    isReading = true;
    try {
      const before = clock.read();
      clock.compare(before, await readClockOf(lookupPool));
      report();
    } catch (error) {
      // /readyz reports an unreachable database, and so does every request that needs it.
      if (!isDatabaseUnavailable(error)) log.warn({ err: error }, "the database's clock was not read");
    } finally {
      isReading = false;
    }
  };
  const timer = setInterval(() => void sample(), SAMPLE_MS).unref();
  void sample();
  return { stop: () => clearInterval(timer) };
}
