import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keeperFolder } from './data-folder.ts';
import { type Account, accountOf, currentAccount } from './database-account.ts';

/** The roles of the embedded database. */
export const roles = { superuser: 'countersign_superuser', owner: 'countersign_owner', server: 'countersign_server' } as const;

/** The database. */
export const databaseName = 'countersign';

/**
 * Writes who may connect: over the Unix socket only, and only the users named here, whom the kernel vouches for. Written anew at
 * every start, outside the cluster, so that what PostgreSQL's user may have changed there does not count.
 */
export function writeAccessRules(dataDir: string, account: Account): { hbaFile: string; identFile: string } {
  const self = currentAccount();
  const root = self.uid === 0 ? self : accountOf(0);
  const names = [...new Set([self.name, root.name, account.name])];
  const mapping = names.flatMap((name) => Object.values(roles).map((role) => `countersign ${quote(name)} ${role}`));
  const hbaFile = join(keeperFolder(dataDir), 'pg_hba.conf');
  const identFile = join(keeperFolder(dataDir), 'pg_ident.conf');
  replaceFile(hbaFile, '# Written at every start.\nlocal all all peer map=countersign\n');
  replaceFile(identFile, `# Written at every start.\n${mapping.join('\n')}\n`);
  return { hbaFile, identFile };
}

/** In quotes no character of a user's name (a leading slash, a keyword, a space) has a meaning of its own. */
function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Whole or not at all, readable for PostgreSQL's user whatever the umask. */
function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
}
