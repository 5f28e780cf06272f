import { setTimeout as sleep } from 'node:timers/promises';
import { RECOVERY_SECONDS_MAX, recoveryText, waitForRecovery } from '../attack/recovery.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault, startSenders } from './fault.ts';

const SENDERS = 8;
/** The promised time until a server that still runs acknowledges a record. */
const RUNNING_SERVER_SECONDS_MAX = 5;

/** What a round kills. The last kind needs a second server. */
const KILLS = ['the servers', 'the database', 'the database and the servers', 'one of the servers'] as const;

/** kill -9 of processes in turn, at random moments, while senders write. */
export const kills: Fault = {
  description:
    'kill -9 in turn of the servers, of PostgreSQL, of both at once, and of one of several servers, while 8 senders write',
  promise: [
    `a record is acknowledged by every server within ${RECOVERY_SECONDS_MAX} s of a kill`,
    `and by a server that still runs within ${RUNNING_SERVER_SECONDS_MAX} s`,
  ].join(', '),
  supportsCitus: true,
  run: async ({ rounds, servers, onCitus }) => {
    const cluster = await Cluster.start({ servers, onCitus });
    const senders = startSenders(cluster, SENDERS);
    const violations: string[] = [];
    const recoveries: (number | undefined)[] = [];
    try {
      const kinds = KILLS.slice(0, servers > 1 ? KILLS.length : -1);
      for (let round = 0; round < rounds; round += 1) {
        await sleep(200 + Math.random() * 800);
        const kind = kinds[round % kinds.length]!;
        const seconds = await runRound(cluster, kind, round);
        recoveries.push(seconds);
        if (seconds === undefined)
          violations.push(`the service did not recover in time from a kill of ${kind} in round ${round + 1}`);
      }
      const report = await senders.stop();
      const sharedResult = await checkSharedPromises(cluster, report);
      const measured = [
        `${rounds} kills on ${servers} servers, ${recoveryText(recoveries)}`,
        `${report.withoutResponse} requests without a response`,
      ].join('; ');
      return { ...sharedResult, measured, violations: [...violations, ...sharedResult.violations] };
    } finally {
      await senders.end();
      await cluster.end();
    }
  },
};

/**
 * Kills what `kind` names, and starts the killed servers again. The keeper restarts the embedded database; `Cluster.kill` restarts a node
 * of Citus.
 * @returns the seconds from the kill until every server acknowledges a record, or undefined if a promised time was exceeded.
 */
async function runRound(cluster: Cluster, kind: (typeof KILLS)[number], round: number): Promise<number | undefined> {
  const { servers, proxy, victim } = cluster;
  const startedAt = performance.now();
  const killsOne = kind === 'one of the servers';
  const killedServers = killsOne ? [servers[round % servers.length]!] : kind === 'the database' ? [] : servers;
  await cluster.kill(killedServers, kind.startsWith('the database'));
  if (killsOne && ((await waitForRecovery([proxy], victim.key, startedAt)) ?? Infinity) > RUNNING_SERVER_SECONDS_MAX)
    return undefined;
  for (const server of killedServers) await cluster.startServer(server);
  return waitForRecovery(servers, victim.key, startedAt);
}
