import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'set-up-link.txt';

/**
 * Writes the set-up link to a file that only the user of this process can read, and returns its path. The link is not printed: logs are
 * often kept, and the first person who uses the link becomes an admin.
 */
export function writeSetUpLink(dataDir: string, link: string): string {
  removeSetUpLink(dataDir);
  const path = join(dataDir, NAME);
  // `wx` does not follow a symbolic link that another user of this machine created there.
  writeFileSync(path, `${link}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Removes the file if it exists: a new link replaces the old one, and after a person has set a password no link is needed. */
export const removeSetUpLink = (dataDir: string): void => rmSync(join(dataDir, NAME), { force: true });
