import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { EmbeddedDatabaseError } from './embedded-database-error.ts';

/** A user of this machine. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** In this order: who the packages of PostgreSQL create on Linux and on macOS, then who exists everywhere. */
const candidateAccountNames = ['postgres', '_postgres', 'nobody'];

const outsideDatabase = 'or use an outside PostgreSQL by setting DATABASE_URL';

/** Who this process is. PostgreSQL and peer authentication need a name for the uid, so one without a name is an error. */
export function currentAccount(): Account {
  try {
    const { username, uid, gid } = userInfo();
    return { name: username, uid, gid };
  } catch {
    throw new EmbeddedDatabaseError(
      'no_account',
      `the uid ${process.geteuid?.()} has no name on this machine and PostgreSQL needs one: add it to /etc/passwd, ${outsideDatabase}`,
    );
  }
}

/** The user PostgreSQL runs as when this process is root, which it refuses to run as. */
export function unprivilegedAccount(): Account {
  const accounts = readPasswd();
  for (const name of candidateAccountNames) {
    const found = accounts.find((account) => account.name === name && account.uid > 0);
    if (found !== undefined) return found;
  }
  throw new EmbeddedDatabaseError(
    'no_account',
    `PostgreSQL does not run as root, and /etc/passwd has no user "postgres" or "nobody" to run it as: create one, ${outsideDatabase}`,
  );
}

/** The user with this uid. */
export function accountOf(uid: number): Account {
  const self = currentAccount();
  const found = self.uid === uid ? self : readPasswd().find((account) => account.uid === uid);
  if (found === undefined) {
    throw new EmbeddedDatabaseError(
      'no_account',
      `the uid ${uid} owns the database but is not in /etc/passwd: add it, ${outsideDatabase}`,
    );
  }
  return found;
}

/** Whether the account can reach the folder. The kernel decides: only it knows modes, access lists and mounts. */
export function canReach(account: Account, folder: string): boolean {
  if (account.uid === process.geteuid?.()) return true;
  const result = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...runAs(account), cwd: '/', stdio: 'ignore' });
  return result.status === 0;
}

/** The options of a child process that is to run as the account. Only root can, and needs to, change who a child is. */
export function runAs(account: Account): { uid?: number; gid?: number } {
  return account.uid === process.geteuid?.() ? {} : { uid: account.uid, gid: account.gid };
}

function readPasswd(): Account[] {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#') && line.includes(':'))
    .map((line) => {
      const [name = '', , uid, gid] = line.split(':');
      return { name, uid: Number(uid), gid: Number(gid) };
    });
}
