import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keeperFolder } from './data-folder.ts';
import { type Account, accountOf, currentAccount } from './database-account.ts';

/** The roles of the embedded database. */
export const roles = { superuser: 'countersign_superuser', owner: 'countersign_owner', server: 'countersign_server' } as const;

/** The name of the database. */
export const databaseName = 'countersign';

/**
 * Writes the two files of access rules and returns their paths. Only root and the users of the keeper and of PostgreSQL can connect, and
 * only over the Unix socket. The kernel reports the user of each connection. The files are written at every start, and outside the cluster,
 * so that changes by PostgreSQL's user have no effect.
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

/** Quotes a user's name, so that a keyword, a comma or a space has no special meaning. */
function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Replaces a file atomically. PostgreSQL's user can read it, whatever the umask is. */
function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
}
