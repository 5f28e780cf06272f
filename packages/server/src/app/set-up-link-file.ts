import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE_NAME = 'set-up-link.txt';

/**
 * Writes the set-up link to a file that only the user of this process can read, and returns its path. The link is not printed: logs are
 * often kept, and the first person who uses the link becomes an admin. A new link replaces an older one.
 */
export function writeSetUpLink(dataDir: string, link: string): string {
  const path = join(dataDir, FILE_NAME);
  // A random name, because several servers may start at the same time. Renaming does not follow a symbolic link.
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(temporary, `${link}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, path);
  return path;
}

/** Removes the file if it exists: after a person has set a password, no link is needed. */
export const removeSetUpLink = (dataDir: string): void => rmSync(join(dataDir, FILE_NAME), { force: true });
