import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { databaseName, roles } from './access-rules.ts';
import type { Binaries } from './binaries.ts';
import { clusterFolder } from './data-folder.ts';
import { type Account, runAs } from './database-account.ts';
import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { postgresEnvironment } from './postgres-settings.ts';

const initdbArguments = [
  ...['--username', roles.superuser, '--encoding=UTF8', '--data-checksums', '--no-instructions'],
  // Text sorts by code point on every machine and in every version. A system locale may change with the C library and break indexes.
  ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
  ...['--auth-local=peer', '--auth-host=reject'],
];

/** One statement per line, as single-user mode requires. The server's role gets its rights on tables from the migrations. */
const firstStatements = [
  `CREATE ROLE ${roles.owner} LOGIN`,
  `CREATE ROLE ${roles.server} LOGIN`,
  `CREATE DATABASE ${databaseName} OWNER ${roles.owner}`,
  `REVOKE ALL ON DATABASE ${databaseName} FROM PUBLIC`,
  `GRANT CONNECT ON DATABASE ${databaseName} TO ${roles.server}`,
];

/** Whether there is a cluster. Throws an EmbeddedDatabaseError if another major version of PostgreSQL created it. */
export function clusterExists(dataDir: string, binaries: Binaries): boolean {
  const cluster = clusterFolder(dataDir);
  if (!existsSync(cluster)) return false;
  const clusterVersion = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  const ownVersion = binaries.version.split('.')[0];
  if (clusterVersion === ownVersion) return true;
  throw new EmbeddedDatabaseError(
    'incompatible_cluster',
    `PostgreSQL ${clusterVersion} created ${cluster}, but this is PostgreSQL ${ownVersion}: ` +
      'export the data with the version of Countersign that created this database, or set DATABASE_URL to an upgraded PostgreSQL ' +
      'that has the data',
  );
}

/**
 * Creates the cluster with its roles and its database in a temporary folder, syncs it to disk, and renames the folder last. So an existing
 * cluster is always complete. Only the registered keeper may call this.
 * @throws EmbeddedDatabaseError if a program of PostgreSQL fails; other errors if a program cannot be started or a folder cannot be written
 */
export async function createCluster(dataDir: string, account: Account, binaries: Binaries): Promise<void> {
  for (const name of readdirSync(dataDir)) {
    // An interrupted first start left this folder. If the initdb of that start is still writing, some files may remain.
    if (name.startsWith('postgres-new-')) removeIfPossible(join(dataDir, name));
  }
  const unfinished = mkdtempSync(join(dataDir, 'postgres-new-'));
  chmodSync(unfinished, 0o700);
  if (process.geteuid?.() === 0) chownSync(unfinished, account.uid, account.gid);
  try {
    await run(account, binaries.initdb, [...initdbArguments, '--no-sync', '-D', unfinished], '');
    const singleUserArguments = [
      '--single',
      '-D',
      unfinished,
      '-c',
      'exit_on_error=on',
      '-c',
      'log_checkpoints=off',
      'template1',
    ];
    await run(account, binaries.postgres, singleUserArguments, `${firstStatements.join('\n')}\n`);
    await run(account, binaries.initdb, ['--sync-only', '-D', unfinished], '');
    renameSync(unfinished, clusterFolder(dataDir));
    syncFolder(dataDir);
  } catch (error) {
    removeIfPossible(unfinished);
    throw error;
  }
}

function run(account: Account, program: string, args: string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...runAs(account), cwd: '/', env: postgresEnvironment, stdio: 'pipe' });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (status === 0) resolve();
      else
        reject(
          new EmbeddedDatabaseError(
            'start_failed',
            `the database cannot be created (${status ?? signal}): ${output.trim().slice(-2000)}`,
          ),
        );
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function removeIfPossible(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {}
}
