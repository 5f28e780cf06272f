import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { errno } from './embedded-database-error.ts';
import { connectToSocket } from './socket-connection.ts';

/**
 * The registration of a keeper for a data folder. The registry is a sequence of numbered folders `lease-<n>`; each names the socket of
 * one keeper. The highest number is current, and its keeper is alive as long as the socket accepts connections.
 *
 * To take over from a dead keeper, a keeper prepares a folder and renames it to the next number. A rename onto a folder that is not empty
 * fails, so only one keeper succeeds. A lock file or a socket with a fixed name would have to be removed when it is stale. Such a removal
 * could remove the file of a successor. The folder with the highest number is never removed, even at a clean stop: it makes the next
 * number unique. A keeper that is not registered yet is called a candidate.
 */
export interface Registration {
  readonly number: number;
  /** Undefined if the keeper cannot be alive: the entry was copied from another data folder, or was lost in a crash. */
  readonly socketPath: string | undefined;
}

/** The content of `keeper.json` in a folder `lease-<n>`. */
interface Entry {
  /**
   * The identity of the keeper's folder. A copy of the folder has another identity. The same folder under another name (a mount) has the
   * same identity.
   */
  readonly folder: string;
  /** The path of the socket. Relative if it is inside the keeper's folder, because the folder can have several names. */
  readonly socket: string;
}

/** The newest registration, whether its keeper is alive or dead; undefined if no keeper has registered. */
export function newestRegistration(keeperDir: string): Registration | undefined {
  let numberWithoutFile = 0;
  for (;;) {
    const number = Math.max(0, ...registeredNumbers(keeperDir));
    if (number === 0) return undefined;
    // A folder without `keeper.json` lost this file in a crash of the machine. The crash also ended the keeper.
    if (number === numberWithoutFile) return { number, socketPath: undefined };
    try {
      return { number, socketPath: socketOf(keeperDir, readFileSync(join(keeperDir, `lease-${number}`, 'keeper.json'), 'utf8')) };
    } catch (error) {
      if (errno(error) !== 'ENOENT') throw error;
      // The folder was probably superseded and removed after it was listed, so list the folders again.
      numberWithoutFile = number;
    }
  }
}

/** The socket that an entry names. Undefined if the entry was copied from another folder, or lost its content in a crash. */
function socketOf(keeperDir: string, text: string): string | undefined {
  try {
    const entry = JSON.parse(text) as Entry;
    return entry.folder === identityOf(keeperDir) ? resolve(keeperDir, entry.socket) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A connection to the registered keeper, or undefined if the keeper is dead. Rejects if the connection fails for another reason. */
export async function connectTo({ socketPath }: Registration): Promise<Socket | undefined> {
  return socketPath === undefined ? undefined : connectToSocket(socketPath);
}

/**
 * Registers a keeper that already listens on `socketPath`.
 * @param dead the newest registration, whose keeper is dead; undefined if there is none
 * @returns undefined if another keeper was first
 */
export function register(keeperDir: string, socketPath: string, dead: Registration | undefined): Registration | undefined {
  const number = (dead?.number ?? 0) + 1;
  const preparedFolder = mkdtempSync(join(keeperDir, 'lease-new-'));
  try {
    const isInside = dirname(socketPath) === keeperDir;
    const entry: Entry = { folder: identityOf(keeperDir), socket: isInside ? basename(socketPath) : socketPath };
    writeFileSync(join(preparedFolder, 'keeper.json'), JSON.stringify(entry));
    renameSync(preparedFolder, join(keeperDir, `lease-${number}`));
  } catch (error) {
    rmSync(preparedFolder, { recursive: true, force: true });
    // ENOTEMPTY, EEXIST, ENOENT: another keeper registered the number, or removed the prepared folder.
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(errno(error) ?? '')) return undefined;
    throw error;
  }
  const registration = { number, socketPath };
  if (isNewest(keeperDir, registration)) return registration;
  // The number was free only because another keeper had registered it, was superseded, and its folder was removed.
  rmSync(join(keeperDir, `lease-${number}`), { recursive: true, force: true });
  return undefined;
}

/** Whether this registration is still the newest. */
export function isNewest(keeperDir: string, registration: Registration): boolean {
  return Math.max(0, ...registeredNumbers(keeperDir)) === registration.number;
}

/** Removes the files of earlier keepers, and of candidates that ended or were too late. Only the registered keeper may call this. */
export function clearSuperseded(keeperDir: string, socketDir: string, registration: Registration): void {
  for (const name of readdirSync(keeperDir)) {
    const number = numberOf(name);
    if ((number !== undefined && number < registration.number) || name.startsWith('lease-new-')) {
      rmSync(join(keeperDir, name), { recursive: true, force: true });
    }
  }
  for (const name of readdirSync(socketDir)) {
    // A candidate whose socket is removed here cannot register, because its number is taken.
    if (/^keeper-.*\.sock$/.test(name) && name !== basename(registration.socketPath ?? ''))
      rmSync(join(socketDir, name), { force: true });
  }
}

function registeredNumbers(keeperDir: string): number[] {
  return readdirSync(keeperDir).flatMap((name) => numberOf(name) ?? []);
}

function numberOf(name: string): number | undefined {
  const match = /^lease-(\d+)$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

function identityOf(folder: string): string {
  const { dev, ino } = statSync(folder);
  return `${dev}:${ino}`;
}
