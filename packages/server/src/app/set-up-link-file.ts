import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'set-up-link.txt';

/**
 * Writes the set-up link to a file that only this account can read, and returns its path. Standard error is often collected and kept, and
 * the link makes its first user an admin.
 */
export function writeSetUpLink(dataDir: string, link: string): string {
  removeSetUpLink(dataDir);
  const path = join(dataDir, NAME);
  // `wx` follows no symbolic link that somebody else has put there.
  writeFileSync(path, `${link}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Removes the file, where there is one: a new link replaces the old one, and nobody needs one once somebody is set up. */
export const removeSetUpLink = (dataDir: string): void => rmSync(join(dataDir, NAME), { force: true });
