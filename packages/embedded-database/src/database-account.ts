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

/** In order of preference: the users that packages of PostgreSQL create on Linux and on macOS, then a user that most systems have. */
const candidateAccountNames = ['postgres', '_postgres', 'nobody'];

const alternative = 'or use an external PostgreSQL by setting DATABASE_URL';

/**
 * The user of this process.
 * @throws EmbeddedDatabaseError if the uid has no name, because PostgreSQL and peer authentication need the name
 */
export function currentAccount(): Account {
  try {
    const { username, uid, gid } = userInfo();
    return { name: username, uid, gid };
  } catch {
    throw new EmbeddedDatabaseError(
      'no_account',
      `the uid ${process.geteuid?.()} has no name on this machine and PostgreSQL needs one: add it to /etc/passwd, ${alternative}`,
    );
  }
}

/**
 * The user that owns a new cluster if this process is root. PostgreSQL refuses to run as root.
 * @throws EmbeddedDatabaseError if the machine has no suitable user
 */
export function unprivilegedAccount(): Account {
  const accounts = readPasswd();
  for (const name of candidateAccountNames) {
    const found = accounts.find((account) => account.name === name && account.uid > 0);
    if (found !== undefined) return found;
  }
  throw new EmbeddedDatabaseError(
    'no_account',
    `PostgreSQL does not run as root, and /etc/passwd has no user "postgres" or "nobody" to run it as: create one, ${alternative}`,
  );
}

/**
 * The user with this uid.
 * @throws EmbeddedDatabaseError if the uid is neither the uid of this process nor in /etc/passwd, or if this process's uid has no name
 */
export function accountOf(uid: number): Account {
  const self = currentAccount();
  const found = self.uid === uid ? self : readPasswd().find((account) => account.uid === uid);
  if (found === undefined) {
    throw new EmbeddedDatabaseError(
      'no_account',
      `the embedded PostgreSQL needs the name of the uid ${uid}, which is not in /etc/passwd: add it, ${alternative}`,
    );
  }
  return found;
}

/**
 * Whether the account can enter the folder; always true for the user of this process. For another account, a shell runs `cd` as that
 * account, so modes, access lists and mounts all count.
 */
export function canReach(account: Account, folder: string): boolean {
  if (account.uid === process.geteuid?.()) return true;
  const result = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...runAs(account), cwd: '/', stdio: 'ignore' });
  return result.status === 0;
}

/**
 * The options of a child process that runs as the account. They are empty for the user of this process, because only root may set a uid.
 */
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
