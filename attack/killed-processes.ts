import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './attack.ts';
import { RECOVERY_SECONDS_MAX, recoveryText, waitForRecovery } from './recovery.ts';

const [ROUNDS_MIN, ROUNDS_MAX] = [4, 40];

/** Acknowledged records survive a kill of the server or of the database. */
export const killedProcesses: Attack = {
  description: 'kill -9 of the server and of PostgreSQL in turn, while other senders write',
  bounds: {},
  promise: `the service recovers within ${RECOVERY_SECONDS_MAX} s, and no acknowledged record is lost`,
  run: async (target, { seconds }) => {
    const endsAt = performance.now() + seconds * 1000;
    const violations: string[] = [];
    const recoveries: (number | undefined)[] = [];
    while ((performance.now() < endsAt || recoveries.length < ROUNDS_MIN) && recoveries.length < ROUNDS_MAX) {
      await sleep(300 + Math.random() * 700);
      const killsServer = recoveries.length % 2 === 0;
      const killedAt = performance.now();
      if (killsServer) {
        await target.kill();
        await target.startProcess();
      } else process.kill(target.folder.postmaster(), 'SIGKILL');
      const recoverySeconds = await waitForRecovery([target], target.attacker.key, killedAt);
      recoveries.push(recoverySeconds);
      if (recoverySeconds === undefined)
        violations.push(`the service did not recover in time from a kill of the ${killsServer ? 'server' : 'database'}`);
    }
    return { rejected: 0, note: `${recoveries.length} kills, ${recoveryText(recoveries)}`, violations };
  },
};
