import { setTimeout as sleep } from 'node:timers/promises';
import { openSocket } from '../attack/loopback.ts';
import { recoveryText, waitForRecovery } from '../attack/recovery.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault, startSenders } from './fault.ts';

const SENDERS = 8;
const OPEN_FILES_MAX = 160;
const CONNECTIONS = 400;
/** How long the connections stay open. */
const OPEN_MS = 1_500;
const RECOVERY_SECONDS_MAX = 10;

/** More connections than a server may have open files. */
export const openFiles: Fault = {
  description:
    `each round opens and closes ${CONNECTIONS} idle connections to each server, which may have ${OPEN_FILES_MAX} open files, ` +
    'while 8 senders write; every second round also kills PostgreSQL',
  promise: `no server ends, and every server acknowledges records at most ${RECOVERY_SECONDS_MAX} s after the connections are closed`,
  run: async ({ rounds, servers }) => {
    const cluster = await Cluster.start({ servers, openFilesMax: OPEN_FILES_MAX });
    const senders = startSenders(cluster, SENDERS);
    const violations: string[] = [];
    const recoveries: (number | undefined)[] = [];
    let openConnectionsMax = 0;
    try {
      for (let round = 0; round < rounds; round += 1) {
        await sleep(500);
        const sockets = cluster.servers.flatMap((server) => Array.from({ length: CONNECTIONS }, () => openSocket(server)));
        await sleep(OPEN_MS / 2);
        // Every second round, the servers must connect to the database again while no file can be opened.
        if (round % 2 === 1) await cluster.kill([], true);
        await sleep(OPEN_MS / 2);
        openConnectionsMax = Math.max(
          openConnectionsMax,
          sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length,
        );
        for (const socket of sockets) socket.destroy();
        const seconds = await waitForRecovery(cluster.servers, cluster.victim.key);
        recoveries.push(seconds);
        if (seconds === undefined || seconds > RECOVERY_SECONDS_MAX)
          violations.push(`a server did not recover within ${RECOVERY_SECONDS_MAX} s after the connections were closed`);
      }
      const report = await senders.stop();
      // The servers log that they cannot write checkpoints to files, and write the checkpoints later.
      const sharedResult = await checkSharedPromises(cluster, report, /EMFILE/);
      const measured = [
        `${rounds} rounds on ${servers} servers, ${recoveryText(recoveries)}`,
        `${openConnectionsMax} connections open at most`,
        `${report.rejected} rejections, ${report.withoutResponse} requests without a response`,
      ].join('; ');
      return { ...sharedResult, measured, violations: [...new Set(violations), ...sharedResult.violations] };
    } finally {
      await senders.end();
      await cluster.end();
    }
  },
};
