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
  writeSync,
} from 'node:fs';
import type { Account } from './database-account.ts';
import { EmbeddedDatabaseError, errno, remedyFor } from './embedded-database-error.ts';

const largestLogBytes = 16 * 1024 * 1024;

/**
 * Opens the log for appending, makes `owner` its owner and returns the descriptor. Does not follow a symbolic link, because a link could
 * redirect the writes of root.
 * @throws EmbeddedDatabaseError if the log cannot be written
 */
export function openLog(path: string, owner: Account): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
  try {
    const descriptor = openSync(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_RDWR, 0o600);
    if (fstatSync(descriptor).uid !== owner.uid) fchownSync(descriptor, owner.uid, owner.gid);
    return descriptor;
  } catch (error) {
    const code = errno(error);
    const remedy = code === 'ELOOP' || code === 'EISDIR' ? 'it is not a regular file, so remove it' : remedyFor(path, code);
    throw new EmbeddedDatabaseError('foreign_folder', `the log ${path} cannot be written (${code}): ${remedy}`);
  }
}

/**
 * Writes a line to standard output, which is the log. If the disk is full, only this line is lost. `console.log` would write nothing
 * after the first failure.
 */
export function writeLogLine(line: string): void {
  try {
    writeSync(1, `${line}\n`);
  } catch {
    // A failure of the log must not end the keeper.
  }
}

/** Closes a descriptor of `openLog`. */
export const closeLog = closeSync;

/**
 * If the log has 16 MiB or more, copies it to `<path>.1`, replacing that file, and then empties the log. The log is truncated in place,
 * because its writers keep it open.
 */
export function limitLogSize(path: string): void {
  try {
    if (statSync(path).size < largestLogBytes) return;
    copyFileSync(path, `${path}.1`);
    truncateSync(path);
  } catch {
    // A failure of the log must not stop the database.
  }
}

/** The last `count` lines of the log, for a message; `(no log)` if it cannot be read. */
export function lastLines(path: string, count: number): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '(no log)';
  }
}
