import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from './loopback.ts';
import { Caller, postRequest } from './requests.ts';

/** The promised maximum time from a failure until a record is acknowledged again. */
export const RECOVERY_SECONDS_MAX = 30;

/**
 * Waits until every server acknowledges a record again. Returns the seconds from the start to the last acknowledgment, or undefined if it
 * took longer than promised.
 * @param startedAt the time of `performance.now()` from which the seconds count. The default is now.
 */
export async function waitForRecovery(
  servers: readonly Address[],
  key: string,
  startedAt = performance.now(),
): Promise<number | undefined> {
  const recoveries = await Promise.all(servers.map((server) => waitForRecord(server, key, startedAt)));
  const seconds = recoveries.filter((each) => each !== undefined);
  return seconds.length === servers.length ? Math.max(...seconds) : undefined;
}

async function waitForRecord(address: Address, key: string, startedAt: number): Promise<number | undefined> {
  const caller = new Caller(address);
  const body = JSON.stringify({ actor: 'attacker', action: 'attack.recovered' });
  try {
    for (;;) {
      const { status } = await caller.send(postRequest('/api/public/audit', key, body), 5_000);
      const seconds = (performance.now() - startedAt) / 1000;
      if (seconds > RECOVERY_SECONDS_MAX) return undefined;
      if (status === 200) return seconds;
      await sleep(50);
    }
  } finally {
    caller.close();
  }
}

/** A text about the longest recovery, for the table. An undefined element is a recovery that took too long. */
export const recoveryText = (seconds: readonly (number | undefined)[]): string =>
  seconds.every((each) => each !== undefined)
    ? `recovered within at most ${Math.max(0, ...seconds).toFixed(1)} s`
    : 'did not always recover in time';
