import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataFolder, keeperFolder, logFile } from './data-folder.ts';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';
import { startKeeper } from './keeper-process.ts';
import { hearKeeper, type KeeperOrders, releaseLine } from './lease-messages.ts';
import { connectTo, newestRegistration } from './lease-register.ts';
import { lastLines } from './log-file.ts';

const pollMs = 10;

/** A keeper that ends with an error before it could be asked why is tried again; something may have been in its way. */
const triesWithoutKeeper = 3;

/** PostgreSQL is ended by force before this; only a keeper that does not run any more takes longer. */
const releasePatienceMs = 9_000;

/** A hold on the database: PostgreSQL runs as long as the connection behind this stays open. */
export interface Lease {
  readonly host: string;
  readonly port: number;
  /** Resolves when the keeper is gone. */
  readonly lost: Promise<void>;
  /** Lets go; resolves when others hold it, or when PostgreSQL has stopped. */
  release(): Promise<void>;
}

/** How long the end of a keeper that was started and is not needed is waited for. */
const unneededKeeperPatienceMs = 5_000;

/**
 * Joins the keeper of the folder, or starts one; resolves when PostgreSQL takes connections.
 * @param cancelled ends the wait. The promise then rejects.
 */
export async function takeLease(
  folder: DataFolder,
  orders: Omit<KeeperOrders, 'dataDir' | 'account'>,
  say: (line: string) => void,
  cancelled: AbortSignal = new AbortController().signal,
): Promise<Lease> {
  let failures = 0;
  let starting: Promise<void> | undefined;

  /** Where another keeper was faster, or has failed, ours may still start, take over and run PostgreSQL for nobody. */
  async function endUnneededKeeper(): Promise<void> {
    const endAt = Date.now() + unneededKeeperPatienceMs;
    while (starting !== undefined && Date.now() < endAt) {
      const socket = await connectToKeeper(folder.dataDir);
      if (socket !== undefined) await becomeHolder(socket, () => {}, AbortSignal.abort()).catch(() => {});
      await Promise.race([starting, sleep(pollMs)]);
    }
  }

  async function take(): Promise<Lease> {
    for (;;) {
      const socket = await connectToKeeper(folder.dataDir);
      const lease = socket === undefined ? undefined : await becomeHolder(socket, say, cancelled);
      if (lease !== undefined) return lease;
      cancelled.throwIfAborted();
      if (failures >= triesWithoutKeeper) {
        const log = logFile(folder.dataDir);
        throw new EmbeddedDatabaseError(
          'start_failed',
          `the embedded PostgreSQL cannot be started; the end of ${log}:\n${lastLines(log, 5)}`,
        );
      }
      // It ends at once when another one lives, or is faster; then there is somebody to join.
      starting ??= startKeeper(folder, orders).then(({ failed }) => {
        starting = undefined;
        if (failed) failures += 1;
      });
      await Promise.race([starting, sleep(pollMs)]);
    }
  }

  try {
    const lease = await take();
    const release = async () => {
      await lease.release();
      await endUnneededKeeper();
    };
    return { ...lease, release };
  } catch (error) {
    await endUnneededKeeper();
    throw error;
  }
}

async function connectToKeeper(dataDir: string): Promise<Socket | undefined> {
  try {
    const newest = newestRegistration(keeperFolder(dataDir));
    return newest === undefined ? undefined : await connectTo(newest);
  } catch (error) {
    if (errno(error) === 'EAGAIN') return undefined;
    throw error;
  }
}

/** Waits until the keeper is ready; undefined if it goes away before, as one does that was just stopping, or is let go. */
function becomeHolder(socket: Socket, say: (line: string) => void, cancelled: AbortSignal): Promise<Lease | undefined> {
  return new Promise((resolve, reject) => {
    const lost = new Promise<void>((gone) => socket.once('close', () => gone()));
    const cancel = () => void release();
    void lost.then(() => {
      cancelled.removeEventListener('abort', cancel);
      resolve(undefined);
    });
    if (cancelled.aborted) cancel();
    else cancelled.addEventListener('abort', cancel);
    socket.on('error', () => {});
    hearKeeper(socket, (message) => {
      if (message.kind === 'say') say(message.line);
      else if (message.kind === 'failed') {
        socket.destroy();
        reject(new EmbeddedDatabaseError(message.code, message.message));
      } else {
        // From now on its holder releases it. The lease must not keep a process alive that has nothing else to do.
        cancelled.removeEventListener('abort', cancel);
        if (!cancelled.aborted) socket.unref();
        resolve({ host: message.host, port: message.port, lost, release });
      }
    });

    async function release(): Promise<void> {
      socket.ref();
      if (socket.writable) socket.write(releaseLine);
      const patience = new AbortController();
      await Promise.race([lost, sleep(releasePatienceMs, undefined, patience).catch(() => {})]);
      patience.abort();
      socket.destroy();
    }
  });
}
