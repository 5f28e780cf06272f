import { setTimeout as sleep } from 'node:timers/promises';
import { RECOVERY_SECONDS_MAX, recoveryText, waitForRecovery } from '../attack/recovery.ts';
import { CommandProcess } from '../packages/server/test/fixtures/server-process.ts';
import { SmallDisk } from '../packages/server/test/fixtures/small-disk.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault, startSenders } from './fault.ts';

const SENDERS = 8;
const DISK_MIB = 2_000;
/** The exit code when the database cannot be started (docs/commands.md). */
const EXIT_CODE = 8;

/** A data folder that became read-only in a crash, as after a disk error. */
export const readOnlyFolder: Fault = {
  description: 'kill -9 of everything, then a start on a data folder that became read-only, while 8 senders write',
  promise:
    `a start exits with ${EXIT_CODE} and says that the folder is read-only; every server ` +
    `acknowledges a record at most ${RECOVERY_SECONDS_MAX} s after the folder is writable again`,
  skipReason: () => {
    const disk = SmallDisk.mount(1);
    disk?.unmount();
    return disk === undefined ? 'it needs permission to mount a file system' : undefined;
  },
  run: async ({ rounds, servers }) => {
    const disk = SmallDisk.mount(DISK_MIB)!;
    try {
      return await runRounds(disk, rounds, servers);
    } finally {
      disk.unmount();
    }
  },
};

async function runRounds(disk: SmallDisk, rounds: number, servers: number) {
  const cluster = await Cluster.start({ servers, dataDir: disk.dataDir });
  const senders = startSenders(cluster, SENDERS);
  const violations: string[] = [];
  const recoveries: (number | undefined)[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      await sleep(500 + Math.random() * 500);
      await cluster.killEverything();
      disk.makeReadOnly();
      const start = new CommandProcess(['serve'], { ...cluster.folder.environment, COUNTERSIGN_PORT: '0' });
      const ending = await start.ended;
      if (ending !== EXIT_CODE || !start.output.includes('read-only'))
        violations.push(`a start on a read-only folder ended with ${ending}: ${start.output.slice(-300)}`);
      disk.makeWritable();
      const startedAt = performance.now();
      for (const server of cluster.servers) await cluster.startServer(server);
      const seconds = await waitForRecovery(cluster.servers, cluster.victim.key, startedAt);
      recoveries.push(seconds);
      if (seconds === undefined) violations.push('a server did not recover in time');
    }
    const report = await senders.stop();
    const sharedResult = await checkSharedPromises(cluster, report);
    const measured = `${rounds} rounds on ${servers} servers, ${recoveryText(recoveries)}`;
    return { ...sharedResult, measured, violations: [...new Set(violations), ...sharedResult.violations] };
  } finally {
    await senders.end();
    await cluster.end();
  }
}
