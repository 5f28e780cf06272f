import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { Caller, postRequest } from './requests.ts';
import type { Target } from './target.ts';

const ROUNDS_MAX = 40;
const RECOVERY_SECONDS_MAX = 30;

/** Waits until a record is acknowledged again. Returns the seconds it took, or undefined after the limit. */
async function waitForRecovery(target: Target): Promise<number | undefined> {
  const startedAt = performance.now();
  const caller = new Caller(target);
  const body = JSON.stringify({ actor: 'attacker', action: 'attack.recovered' });
  try {
    for (;;) {
      const { status } = await caller.send(postRequest('/api/public/audit', target.attacker.key, body), 5_000);
      const seconds = (performance.now() - startedAt) / 1000;
      if (status === 200) return seconds;
      if (seconds > RECOVERY_SECONDS_MAX) return undefined;
      await sleep(50);
    }
  } finally {
    caller.close();
  }
}

/** Acknowledged records survive a kill of the server or of the database. */
export const killedProcesses: Attack = {
  what: 'kill -9 of the server and of PostgreSQL in turn, while others write',
  bounds: {},
  promise: `recovers within ${RECOVERY_SECONDS_MAX} s, and no acknowledged record is lost`,
  run: async (target, { seconds }) => {
    const endsAt = performance.now() + seconds * 1000;
    const slow: string[] = [];
    let [rounds, longest] = [0, 0];
    while ((performance.now() < endsAt || rounds < 4) && rounds < ROUNDS_MAX) {
      await sleep(300 + Math.random() * 700);
      const isServer = rounds % 2 === 0;
      if (isServer) {
        await target.kill();
        await target.restart();
      } else process.kill(target.folder.postmaster(), 'SIGKILL');
      rounds += 1;
      const took = await waitForRecovery(target);
      longest = Math.max(longest, took ?? RECOVERY_SECONDS_MAX);
      if (took === undefined) slow.push(`the service did not recover from a kill of the ${isServer ? 'server' : 'database'}`);
    }
    return { refused: 0, note: `${rounds} kills, back after ${longest.toFixed(1)} s at most`, violations: slow };
  },
};
