import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataFolder, keeperFolder, logFile } from './data-folder.ts';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';
import { connectTo, newestRegistration } from './keeper-registry.ts';
import { type KeeperConfiguration, onKeeperMessage, releaseLine } from './lease-messages.ts';
import { lastLines } from './log-file.ts';
import { startKeeper } from './start-keeper.ts';

const pollMs = 10;

/** The start fails after this many keepers have exited with an error. One failure is not enough, because its cause may be temporary. */
const startAttemptsMax = 3;

/** How long a release waits for the keeper. The keeper needs less time to stop PostgreSQL, unless the keeper is suspended. */
const releaseTimeoutMs = 9_000;

/** A lease on the database. PostgreSQL runs as long as the lease's connection to the keeper stays open. */
export interface Lease {
  readonly host: string;
  readonly port: number;
  /** Resolves when the connection to the keeper has closed, also after a release. */
  readonly lost: Promise<void>;
  /** Releases the lease. Resolves as `EmbeddedDatabase.release` does. */
  release(): Promise<void>;
}

/** How long to wait for the end of a keeper that this process started and does not need. */
const unneededKeeperTimeoutMs = 5_000;

/**
 * Connects to the keeper of the folder, or starts one. Resolves when PostgreSQL accepts connections.
 * @param cancelSignal ends the wait; the promise then rejects
 * @throws EmbeddedDatabaseError if the keeper reports a failure, too many keepers failed, or the log cannot be written
 */
export async function acquireLease(
  folder: DataFolder,
  configuration: Omit<KeeperConfiguration, 'dataDir' | 'account'>,
  notify: (line: string) => void,
  cancelSignal: AbortSignal = new AbortController().signal,
): Promise<Lease> {
  let failures = 0;
  /** Resolves when the keeper that this process started has ended; undefined if there is no such keeper. */
  let keeperEnd: Promise<void> | undefined;

  /**
   * Waits until the keeper that this process started has ended, at most unneededKeeperTimeoutMs, and releases every lease that it gets from
   * the keeper. Without this wait, a keeper that starts late could take over and run PostgreSQL without a client.
   */
  async function stopUnneededKeeper(): Promise<void> {
    const endAt = Date.now() + unneededKeeperTimeoutMs;
    while (keeperEnd !== undefined && Date.now() < endAt) {
      const socket = await connectToKeeper(folder.dataDir);
      if (socket !== undefined) await openLease(socket, () => {}, AbortSignal.abort()).catch(() => {});
      await Promise.race([keeperEnd, sleep(pollMs)]);
    }
  }

  async function connectOrStart(): Promise<Lease> {
    for (;;) {
      const socket = await connectToKeeper(folder.dataDir);
      const lease = socket === undefined ? undefined : await openLease(socket, notify, cancelSignal);
      if (lease !== undefined) return lease;
      cancelSignal.throwIfAborted();
      if (failures >= startAttemptsMax) {
        const log = logFile(folder.dataDir);
        throw new EmbeddedDatabaseError(
          'start_failed',
          `the embedded PostgreSQL cannot be started; the end of ${log}:\n${lastLines(log, 5)}`,
        );
      }
      // The new keeper ends at once if another one is alive or registered first. A later iteration then connects to the other one.
      keeperEnd ??= startKeeper(folder, configuration).then(({ hasFailed }) => {
        keeperEnd = undefined;
        if (hasFailed) failures += 1;
      });
      await Promise.race([keeperEnd, sleep(pollMs)]);
    }
  }

  try {
    const lease = await connectOrStart();
    const release = async () => {
      await lease.release();
      await stopUnneededKeeper();
    };
    return { ...lease, release };
  } catch (error) {
    await stopUnneededKeeper();
    throw error;
  }
}

async function connectToKeeper(dataDir: string): Promise<Socket | undefined> {
  try {
    const newest = newestRegistration(keeperFolder(dataDir));
    return newest === undefined ? undefined : await connectTo(newest);
  } catch (error) {
    // The keeper is busy: too many connections wait until it accepts them.
    if (errno(error) === 'EAGAIN') return undefined;
    throw error;
  }
}

/**
 * Waits until the keeper is ready. Resolves with undefined if the connection closed first: the keeper ended, or the wait was canceled.
 * Rejects if the keeper reports that it failed.
 */
function openLease(socket: Socket, notify: (line: string) => void, cancelSignal: AbortSignal): Promise<Lease | undefined> {
  return new Promise((resolve, reject) => {
    const lost = new Promise<void>((resolveLost) => socket.once('close', () => resolveLost()));
    const cancel = () => void release();
    void lost.then(() => {
      cancelSignal.removeEventListener('abort', cancel);
      resolve(undefined);
    });
    if (cancelSignal.aborted) cancel();
    else cancelSignal.addEventListener('abort', cancel);
    socket.on('error', () => {});
    onKeeperMessage(socket, (message) => {
      if (message.kind === 'say') notify(message.line);
      else if (message.kind === 'failed') {
        socket.destroy();
        reject(new EmbeddedDatabaseError(message.code, message.message));
      } else {
        // From here on, the owner of the lease releases it. A lease must not keep an idle process alive.
        cancelSignal.removeEventListener('abort', cancel);
        if (!cancelSignal.aborted) socket.unref();
        resolve({ host: message.host, port: message.port, lost, release });
      }
    });

    async function release(): Promise<void> {
      socket.ref();
      if (socket.writable) socket.write(releaseLine);
      const timeout = new AbortController();
      await Promise.race([lost, sleep(releaseTimeoutMs, undefined, timeout).catch(() => {})]);
      timeout.abort();
      socket.destroy();
    }
  });
}
