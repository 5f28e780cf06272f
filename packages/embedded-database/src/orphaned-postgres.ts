import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';
import { port } from './postgres-settings.ts';
import { connectToSocket } from './socket-connection.ts';

const pollMs = 10;

/** How often a connection to the socket is tried. */
const pollSocketMs = 200;

/** The signals that stop an orphaned postmaster, and how long each may take, in milliseconds. On a full disk, SIGINT may have no effect. */
const orphanStopSignals = [
  ['SIGINT', 6_000],
  ['SIGQUIT', 2_000],
  ['SIGKILL', 10_000],
] as const;

/** How long the other processes of PostgreSQL may take to end by themselves after the postmaster has ended. */
const childrenTimeoutMs = 1_000;

/** How long the kernel may take to remove killed processes. */
const killedTimeoutMs = 10_000;

/** How long a PostgreSQL in another container may take to end. Its watchdog stops it within eight seconds. */
const otherContainerTimeoutMs = 10_000;

/** A process of a PostgreSQL: the postmaster, or a process that the postmaster has started. */
interface PostgresProcess {
  readonly pid: number;
  readonly isPostmaster: boolean;
}

/**
 * Stops the PostgreSQL of a keeper that was killed, and removes its lock files. Only the registered keeper may call this, before it starts
 * its own PostgreSQL: a PostgreSQL that runs in this folder is then orphaned.
 * @throws EmbeddedDatabaseError if processes remain, or if a PostgreSQL in another container still accepts connections
 */
export async function stopOrphanedPostgres(cluster: string, socketFolder: string, notify: (line: string) => void): Promise<void> {
  const postmasters = () => processesIn(cluster).filter(({ isPostmaster }) => isPostmaster);
  if (postmasters().length > 0) notify('PostgreSQL of an earlier run is still running: stopping it first');
  for (const [signal, timeoutMs] of orphanStopSignals) {
    for (const { pid } of postmasters()) kill(pid, signal);
    await waitUntilNone(postmasters, timeoutMs);
  }
  let remaining = await waitUntilNone(() => processesIn(cluster), childrenTimeoutMs);
  for (const { pid } of remaining) kill(pid, 'SIGKILL');
  remaining = await waitUntilNone(() => processesIn(cluster), killedTimeoutMs);
  if (remaining.length > 0) {
    const pids = remaining.map(({ pid }) => pid).join(', ');
    throw new EmbeddedDatabaseError('start_failed', `PostgreSQL of an earlier run cannot be stopped: end the processes ${pids}`);
  }
  await waitUntilSocketIsClosed(join(socketFolder, `.s.PGSQL.${port}`), notify);
  // PostgreSQL may refuse to start if a process with the ID in a lock file exists. By now this process can be unrelated, or dead but not
  // reaped (some containers have no process that reaps). The checks above show that no PostgreSQL of this machine runs
  // on this cluster.
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
  for (const name of readdirSync(socketFolder))
    if (name.startsWith('.s.PGSQL.')) rmSync(join(socketFolder, name), { force: true });
}

/**
 * Waits until no PostgreSQL accepts connections on the socket. Call it after all visible processes of PostgreSQL have ended. A PostgreSQL
 * that still accepts connections then runs in another container with the same data folder.
 */
async function waitUntilSocketIsClosed(socketPath: string, notify: (line: string) => void): Promise<void> {
  const deadline = Date.now() + otherContainerTimeoutMs;
  let isReported = false;
  while (await acceptsConnections(socketPath)) {
    if (Date.now() >= deadline)
      throw new EmbeddedDatabaseError(
        'start_failed',
        `a PostgreSQL in another container uses this data folder (it accepts connections on ${socketPath}): stop the other container`,
      );
    if (!isReported) notify('PostgreSQL of an earlier run is still running in another container: waiting for its end');
    isReported = true;
    await sleep(pollSocketMs);
  }
}

/** Whether a process listens on the socket. If it listens but the connection fails, it is busy. */
async function acceptsConnections(socketPath: string): Promise<boolean> {
  const socket = await connectToSocket(socketPath).catch(() => 'busy' as const);
  if (socket !== 'busy') socket?.destroy();
  return socket !== undefined;
}

/** Waits until `find` finds no processes. Returns the processes that are left after the timeout. */
async function waitUntilNone(find: () => PostgresProcess[], timeoutMs: number): Promise<PostgresProcess[]> {
  const deadline = Date.now() + timeoutMs;
  let found = find();
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(pollMs);
    found = find();
  }
  return found;
}

/**
 * The processes of a PostgreSQL whose working directory is this cluster. On systems other than Linux, only the postmaster is found.
 */
function processesIn(cluster: string): PostgresProcess[] {
  if (process.platform !== 'linux') return postmasterByLockFile(cluster);
  const clusterStats = statSync(cluster);
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // Device and inode identify the folder. Its name can be different in a container or through a mount.
      const workingDirectory = statSync(`/proc/${name}/cwd`);
      if (workingDirectory.ino !== clusterStats.ino || workingDirectory.dev !== clusterStats.dev) return [];
      // This excludes other programs in this folder, such as a shell.
      if (!/\/postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${name}/exe`))) return [];
      // Only the postmaster keeps its arguments. Other PostgreSQL processes replace their command line with the name of their task.
      return [{ pid: Number(name), isPostmaster: readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('\0-D\0') }];
    } catch {
      // The process has ended, is not reaped yet, or belongs to another user, who cannot have opened the cluster.
      return [];
    }
  });
}

/** Finds the postmaster without /proc: the process that the lock file names, if its command line contains the cluster's path. */
function postmasterByLockFile(cluster: string): PostgresProcess[] {
  try {
    const pid = Number.parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10);
    const command = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(` -D ${cluster} `) ? [{ pid, isPostmaster: true }] : [];
  } catch {
    // No lock file, or no such process.
    return [];
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errno(error) !== 'ESRCH') throw error;
  }
}
