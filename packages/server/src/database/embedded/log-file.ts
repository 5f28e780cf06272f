import {
  closeSync,
  constants,
  copyFileSync,
  fchownSync,
  fstatSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs';
import type { Account } from './database-account.ts';
import { EmbeddedDatabaseError, errno } from './embedded-database-error.ts';

const largestLogBytes = 16 * 1024 * 1024;

/** Opens the log to append to. Not through a symbolic link, which would let root be sent to write elsewhere. */
export function openLog(path: string, owner: Account): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  try {
    const descriptor = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
    if (fstatSync(descriptor).uid !== owner.uid) fchownSync(descriptor, owner.uid, owner.gid);
    return descriptor;
  } catch (error) {
    throw new EmbeddedDatabaseError('foreign_folder', `the log ${path} cannot be written (${errno(error)}): remove it`);
  }
}

/** Closes what `openLog` opened. */
export const closeLog = closeSync;

/** Bounds the log: what is over stays as `<path>.1`. In place, because the processes that write it keep it open. */
export function boundLog(path: string): void {
  try {
    if (statSync(path).size < largestLogBytes) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  } catch {
    // The log is a help, never a reason to fail.
  }
}

/** The end of the log, for a message. */
export function lastLines(path: string, count: number): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '(no log)';
  }
}
