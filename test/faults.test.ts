import { spawnSync } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { RECOVERY_SECONDS_MAX, waitForRecovery } from '../attack/recovery.ts';
import { Caller, httpText } from '../attack/requests.ts';
import { Cluster } from '../faults/cluster.ts';
import { checkSharedPromises } from '../faults/fault.ts';
import { FAULTS } from '../faults/faults.ts';
import { Load } from '../faults/load.ts';
import { readOptions } from '../faults/options.ts';
import { RoundRobinProxy } from '../faults/round-robin-proxy.ts';

const command = fileURLToPath(new URL('../faults/run.ts', import.meta.url));
const causeFaults = (...args: string[]) =>
  spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', timeout: 290_000 });

const READ_ONLY: [name: string, ...args: string[]] = ['read-only-folder', '--rounds', '1', '--servers', '1'];

/** Faults with options for short runs. docs/reliability.md has the results of long runs. */
const SHORT_RUNS: [name: string, ...args: string[]][] = [
  ['kills', '--rounds', '4', '--servers', '2'],
  ['several-servers', '--seconds', '6', '--servers', '2'],
  ['database-outages', '--rounds', '3', '--servers', '1'],
  ['open-files', '--rounds', '2', '--servers', '1'],
  ...(FAULTS['read-only-folder'].skipReason?.() === undefined ? [READ_ONLY] : []),
];

describe('npm run faults', () => {
  test('rejects invalid options', () => {
    const citus = ['--citus', '--only', 'open-files'];
    expect(() => readOptions(citus)).toThrow('with --citus, --only takes kills, several-servers, overload; got "open-files"');
    expect(() => readOptions(['--servers', '5'])).toThrow('--servers must be a whole number from 1 to 4');
    expect(() => readOptions(['--rounds', '0'])).toThrow('--rounds must be a whole number from 1 to 1000');
  });

  test('exits with 2 for an invalid option and prints no table', () => {
    const { status, stdout, stderr } = causeFaults('--only', 'nothing');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('--only takes kills');
  });

  test.each(SHORT_RUNS)('%s: every promise holds in a short run', { timeout: 300_000 }, (name, ...args) => {
    const { status, stdout, stderr } = causeFaults('--only', name, ...args);
    expect(status, stderr).toBe(0);
    expect(stdout).toContain('| 0 | holds |');
  });
});

test('requests above the queue capacity get Retry-After, and no acknowledged record is lost', { timeout: 300_000 }, async () => {
  const cluster = await Cluster.start({ servers: 1, settings: { COUNTERSIGN_QUEUE_BYTES_MAX: '65536' } });
  const load = new Load({ servers: cluster.servers, key: cluster.victim.key });
  try {
    const { seconds, acknowledged, unexpectedResponses } = await load.run({ perSecond: 5_000, seconds: 2, connectionsMax: 200 });
    expect(seconds.reduce((sum, { rejected }) => sum + rejected, 0)).toBeGreaterThan(0);
    expect(await checkSharedPromises(cluster, { acknowledged, unexpectedResponses })).toMatchObject({ lost: 0, violations: [] });
  } finally {
    await load.end();
    await cluster.end();
  }
});

/** Starts a server that responds to every request with this status, or with the status that this function returns. */
async function startResponder(status: number | (() => number)): Promise<Server> {
  const statusNow = () => (typeof status === 'number' ? status : status());
  const server = createServer((socket: Socket) => {
    socket.on('data', () => socket.write(`HTTP/1.1 ${statusNow()} X\r\nContent-Length: 0\r\n\r\n`)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const addressOf = (server: Server) => ({ host: '127.0.0.1', port: (server.address() as { port: number }).port });

test('the time of a recovery counts from the fault until the last server acknowledges a record', async () => {
  const [working, failing] = [await startResponder(200), await startResponder(503)];
  const readyAt = performance.now() + 300;
  const lateServer = await startResponder(() => (performance.now() < readyAt ? 503 : 200));
  const secondsAgo = (seconds: number) => performance.now() - seconds * 1000;
  const recovery = (servers: Server[], startedAt?: number) => waitForRecovery(servers.map(addressOf), 'key', startedAt);
  expect(await recovery([working, working])).toBeLessThan(RECOVERY_SECONDS_MAX);
  expect(await recovery([lateServer, working], readyAt - 300)).toBeGreaterThanOrEqual(0.3);
  expect(await recovery([working], secondsAgo(10))).toBeGreaterThan(10);
  expect(await recovery([working], secondsAgo(RECOVERY_SECONDS_MAX))).toBeUndefined();
  expect(await recovery([working, failing], secondsAgo(RECOVERY_SECONDS_MAX - 0.5))).toBeUndefined();
  for (const server of [working, failing, lateServer]) server.close();
});

describe('the round-robin proxy', () => {
  const statusesOf = async (proxy: RoundRobinProxy, count: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      const caller = new Caller(proxy);
      statuses.push((await caller.send(httpText('GET', '/', {}), 5_000)).status);
      caller.close();
    }
    return statuses;
  };

  test('connects clients to the servers in turn, and skips servers that are down', async () => {
    const [first, second] = [await startResponder(201), await startResponder(202)];
    const proxy = await RoundRobinProxy.start('127.0.0.1', [addressOf(first), addressOf(second)]);
    expect(await statusesOf(proxy, 4)).toEqual([201, 202, 201, 202]);
    first.close();
    expect(await statusesOf(proxy, 3)).toEqual([202, 202, 202]);
    second.close();
    expect(await statusesOf(proxy, 1)).toEqual([0]);
    proxy.close();
  });

  test('listens only on loopback', async () => {
    await expect(RoundRobinProxy.start('0.0.0.0', [])).rejects.toThrow('only a loopback address');
  });
});
