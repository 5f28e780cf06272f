import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { RECOVERY_SECONDS_MAX, waitForRecovery } from './recovery.ts';

const ROUNDS_MAX = 40;
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
      const took = await waitForRecovery(target, target.attacker.key);
      longest = Math.max(longest, took ?? RECOVERY_SECONDS_MAX);
      if (took === undefined) slow.push(`the service did not recover from a kill of the ${isServer ? 'server' : 'database'}`);
    }
    return { refused: 0, note: `${rounds} kills, back after ${longest.toFixed(1)} s at most`, violations: slow };
  },
};
