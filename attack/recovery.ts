import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from './loopback.ts';
import { Caller, postRequest } from './requests.ts';

/** The promised time until a record is acknowledged again. */
export const RECOVERY_SECONDS_MAX = 30;

/** Waits until a record is acknowledged again. Returns the seconds it took, or undefined after the limit. */
export async function waitForRecovery(address: Address, key: string): Promise<number | undefined> {
  const startedAt = performance.now();
  const caller = new Caller(address);
  const body = JSON.stringify({ actor: 'attacker', action: 'attack.recovered' });
  try {
    for (;;) {
      const { status } = await caller.send(postRequest('/api/public/audit', key, body), 5_000);
      const seconds = (performance.now() - startedAt) / 1000;
      if (status === 200) return seconds;
      if (seconds > RECOVERY_SECONDS_MAX) return undefined;
      await sleep(50);
    }
  } finally {
    caller.close();
  }
}
