import { setTimeout as sleep } from 'node:timers/promises';
import { AccessChecks } from './access-checks.ts';
import { Cluster } from './cluster.ts';
import { checkSharedPromises, type Fault, type FaultResult, startSenders } from './fault.ts';

const SENDERS = 8;
/** How long all servers run before one is killed, and how long the killed server stays stopped. */
const [UP_MS, DOWN_MS] = [1_500, 1_000];

/** Servers on one database behind a proxy, killed one by one and started again. */
export const severalServers: Fault = {
  description: 'servers on one database behind a round-robin proxy, killed one by one and started again, while 8 senders write',
  promise: 'sign-in, sign-out, new keys, revoked keys and removed members take effect on every server at the next request',
  supportsCitus: true,
  run: async ({ seconds, servers, onCitus }) => {
    const counts = Array.from({ length: Math.max(2, servers) - 1 }, (_, index) => index + 2);
    const results: FaultResult[] = [];
    for (const count of counts) results.push(await runServers(count, seconds / counts.length, onCitus));
    return {
      measured: results.map(({ measured }) => measured).join('; '),
      acknowledged: sum(results.map(({ acknowledged }) => acknowledged)),
      lost: sum(results.map(({ lost }) => lost)),
      violations: results.flatMap(({ violations }) => violations),
    };
  },
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function runServers(servers: number, seconds: number, onCitus: boolean): Promise<FaultResult> {
  const cluster = await Cluster.start({ servers, onCitus });
  const senders = startSenders(cluster, SENDERS);
  try {
    const checks = await AccessChecks.start(cluster);
    const kills = await killInTurn(cluster, seconds).finally(() => checks.stop());
    const sharedResult = await checkSharedPromises(cluster, await senders.stop());
    const unchecked = Object.entries(checks.counts).filter(([, count]) => count === 0);
    return {
      ...sharedResult,
      measured: `${servers} servers: ${kills} kills, ${sum(Object.values(checks.counts))} access checks`,
      violations: [
        ...sharedResult.violations,
        ...new Set(checks.violations),
        ...unchecked.map(([check]) => `no ${check} was checked on ${servers} servers`),
      ],
    };
  } finally {
    await senders.end();
    await cluster.end();
  }
}

/** Kills the servers in turn and starts them again, each at least once, until the time is up. Returns the number of kills. */
async function killInTurn(cluster: Cluster, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1000;
  let kills = 0;
  for (; kills < cluster.servers.length || performance.now() < endsAt; kills += 1) {
    await sleep(UP_MS);
    const server = cluster.servers[kills % cluster.servers.length]!;
    await cluster.kill([server]);
    await sleep(DOWN_MS);
    await cluster.startServer(server);
  }
  return kills;
}
