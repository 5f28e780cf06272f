import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECOVERY_SECONDS_MAX, recoveryText, waitForRecovery } from '../attack/recovery.ts';
import { isAlive, until } from '../packages/embedded-database/test/harness/processes.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault, startSenders } from './fault.ts';

const SENDERS = 8;
const OUTAGE_MS = 4_000;
/** /readyz must report within this time that the database hangs or refuses connections. */
const NOTICED_MS_MAX = 3_000;

/** The outages, one per round in this order. Each function starts an outage, and returns a function that ends it or waits for its end. */
const OUTAGES: Record<string, (cluster: Cluster) => () => void | Promise<void>> = {
  hangs: (cluster) => {
    cluster.signalDatabase('SIGSTOP');
    return () => cluster.signalDatabase('SIGCONT');
  },
  'refuses connections': ({ folder }) => {
    // The keeper writes this file before each start of PostgreSQL. A folder of the same name makes the start fail.
    const obstacle = join(folder.path, 'keeper', 'pg_hba.conf.new');
    mkdirSync(obstacle);
    process.kill(folder.postmaster(), 'SIGKILL');
    return () => rmdirSync(obstacle);
  },
  restarts: ({ folder }) => {
    const pid = folder.postmaster();
    process.kill(pid, 'SIGINT'); // a fast shutdown
    // On a busy machine, PostgreSQL can store records for a while after the signal. They must not count as a recovery.
    return () => until('PostgreSQL has exited', () => !isAlive(pid));
  },
};

/** PostgreSQL hangs, refuses connections or restarts. */
export const databaseOutages: Fault = {
  description:
    `PostgreSQL hangs for ${OUTAGE_MS / 1000} s, refuses connections for ${OUTAGE_MS / 1000} s, and restarts, in turn, ` +
    'while 8 senders write',
  promise:
    `/readyz is 503 within ${NOTICED_MS_MAX / 1000} s if PostgreSQL hangs or refuses connections, ` +
    `and every server acknowledges records again within ${RECOVERY_SECONDS_MAX} s after the outage`,
  run: async ({ rounds, servers }) => {
    const cluster = await Cluster.start({ servers });
    const senders = startSenders(cluster, SENDERS);
    const violations: string[] = [];
    const recoveries: (number | undefined)[] = [];
    try {
      for (let round = 0; round < rounds; round += 1) {
        await sleep(500 + Math.random() * 500);
        const [kind, begin] = Object.entries(OUTAGES)[round % 3]!;
        const end = begin(cluster);
        if (kind !== 'restarts') {
          const startedAt = performance.now();
          if (!(await isReported(cluster))) violations.push(`/readyz did not report in time that the database ${kind}`);
          await sleep(Math.max(0, OUTAGE_MS - (performance.now() - startedAt)));
        }
        const endsAt = performance.now();
        await end();
        const seconds = await waitForRecovery(cluster.servers, cluster.victim.key, endsAt);
        recoveries.push(seconds);
        if (seconds === undefined) violations.push(`the service did not recover in time from this outage: the database ${kind}`);
      }
      const report = await senders.stop();
      const sharedResult = await checkSharedPromises(cluster, report);
      const measured = [
        `${rounds} outages on ${servers} servers, ${recoveryText(recoveries)}`,
        `${report.rejected} rejections, ${report.withoutResponse} requests without a response`,
      ].join('; ');
      return { ...sharedResult, measured, violations: [...new Set(violations), ...sharedResult.violations] };
    } finally {
      await senders.end();
      await cluster.end();
    }
  },
};

/** Whether /readyz of every server becomes 503 in time. */
async function isReported({ servers }: Cluster): Promise<boolean> {
  const endsAt = performance.now() + NOTICED_MS_MAX;
  for (const { url } of servers) {
    for (;;) {
      const status = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(NOTICED_MS_MAX) }).then(
        (response) => response.arrayBuffer().then(() => response.status),
        () => 0,
      );
      if (performance.now() > endsAt) return false;
      if (status === 503) break;
      await sleep(50);
    }
  }
  return true;
}
