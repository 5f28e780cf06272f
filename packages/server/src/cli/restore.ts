import { join } from 'node:path';
import type { Command } from 'commander';
import { type OpenDatabase, openDatabase } from '../app/open-database.ts';
import { restoreDatabase } from '../app/restore-database.ts';
import { type BackupReader, openBackup } from '../backup/backup-reader.ts';
import { decryptSecrets } from '../backup/encrypted-secrets.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { checkParts, requireKnownMigrations } from '../backup/restore-rows.ts';
import { requireZstandard } from '../backup/zstandard.ts';
import { openMemoryFolder } from '../checkpoints/memory-folder.ts';
import type { Config } from '../config/config.ts';
import { knownMigrations } from '../database/migrate.ts';
import { openCommandPool } from '../database/pools.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { loadSecrets } from '../secrets/load-secrets.ts';
import { requireNoOtherSecrets, restoreSecretFiles } from '../secrets/secret-files.ts';
import { LOG_NAMES } from '../storage/log-heads.ts';
import { acceptRestore } from '../workspace/accept-restore.ts';
import { RuleViolationError } from '../workspace/rule-violation.ts';
import { JSON_OPTION } from './arguments.ts';
import { formatWorkspaceCount, requiredPassphrase } from './backup.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import { examples } from './help.ts';
import { progressOn } from './progress.ts';
import type { Session } from './session.ts';
import { verifyWorkspaces } from './verify-workspaces.ts';

interface RestoreOptions {
  input: string;
  withSecrets?: boolean;
  secretsOutput?: string;
  progress?: boolean;
}

/** `restore`. */
export function addRestore(program: Command, session: Session): void {
  program
    .command('restore')
    .description(
      'Restore a backup into an empty database, and verify every log. Exit 1: the backup is damaged, a table does not accept its rows, or a log is not valid.',
    )
    .requiredOption('--input <path>', 'the file or folder that `backup` wrote')
    .option('--with-secrets', 'restore the secrets too; COUNTERSIGN_BACKUP_PASSPHRASE decrypts them')
    .option(
      '--secrets-output <folder>',
      'with --with-secrets: the folder for the secrets; required if DATABASE_URL is set (default: "secrets" in the data folder)',
    )
    .option('--progress', 'show progress on stderr even if it is not a terminal; ignored with --json')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('restore --input countersign.backup', 'restore --input backups/today --with-secrets') + NOTE)
    .action(async (options: RestoreOptions, command: Command) => {
      requireZstandard();
      const { withSecrets = false, secretsOutput } = options;
      if (secretsOutput !== undefined && !withSecrets) command.error('--secrets-output needs --with-secrets');
      if (withSecrets && secretsOutput === undefined && session.config.databaseUrl !== undefined)
        command.error('with DATABASE_URL, --with-secrets also needs --secrets-output FOLDER');
      limitHeapGrowth();
      const reader = await openBackup(options.input);
      try {
        await restore(session, options, reader);
      } finally {
        await reader.close();
      }
    });
}

async function restore(session: Session, options: RestoreOptions, reader: BackupReader): Promise<void> {
  requireKnownMigrations(reader.manifest, knownMigrations());
  await checkParts(reader);
  const { config, writeSecrets } =
    options.withSecrets === true
      ? await readSecretsOfBackup(session, options, reader)
      : { config: await requireSecrets(session, reader), writeSecrets: () => undefined };
  await requireReadableMemory(config, reader.manifest);
  const { onRows, done } = progressOn(session, options.progress === true);
  const callbacks = { say: session.say, progress: onRows, beforeLoad: writeSecrets };
  const acquired = await restoreDatabase(config, reader, callbacks).finally(done);
  try {
    const database = await openDatabase(config, session.say, 'use', openCommandPool);
    try {
      await verifyAndReport(session, options, database, reader);
    } finally {
      await database.close();
    }
  } finally {
    await acquired.release();
  }
}

/**
 * Reads the checkpoints in the memory folder before rows are loaded, because the verification after the load needs them.
 * @throws DamagedCheckpointError if a checkpoint is damaged.
 */
async function requireReadableMemory(config: Config, { workspaces }: BackupManifest): Promise<void> {
  const memory = openMemoryFolder(config, () => undefined);
  for (const { id } of workspaces) for (const log of LOG_NAMES) await memory?.latest(id, log);
}

/**
 * Returns the configuration if its secrets exist and are well-formed.
 * @throws ExitError otherwise. If the backup contains secrets, the message says how to restore them.
 */
async function requireSecrets({ config }: Session, reader: BackupReader): Promise<Config> {
  try {
    loadSecrets(config, false);
    return config;
  } catch (error) {
    if (!(error instanceof ExitError) || reader.manifest.secretsSha256 === undefined) throw error;
    throw new ExitError(error.reason, `${error.message}; or restore the secrets in the backup with --with-secrets`);
  }
}

/**
 * Decrypts the secrets of the backup. Returns the configuration that uses them, and a function that writes them to files.
 * @throws ExitError if the backup has no secrets, the passphrase is missing or wrong, or a file contains another secret.
 */
async function readSecretsOfBackup(
  session: Session,
  { secretsOutput }: RestoreOptions,
  reader: BackupReader,
): Promise<{ config: Config; writeSecrets: () => void }> {
  const encryptedSecrets = await reader.secrets();
  if (encryptedSecrets === undefined)
    throw new ExitError(
      'wrong_secret',
      'the backup contains no secrets; provide your own copy of them, and run `restore` without --with-secrets',
    );
  const secrets = decryptSecrets(encryptedSecrets, requiredPassphrase(session), reader.manifest.instance.id);
  const folder = secretsOutput ?? join(session.config.dataDir, 'secrets');
  requireNoOtherSecrets(folder, secrets);
  return { config: { ...session.config, ...secrets }, writeSecrets: () => restoreSecretFiles(folder, secrets) };
}

async function verifyAndReport(
  session: Session,
  { input, progress: showProgress }: RestoreOptions,
  database: OpenDatabase,
  { manifest }: BackupReader,
): Promise<void> {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  session.say(`restored ${rows} rows of ${formatWorkspaceCount(manifest.workspaces.length)}; verifying the logs`);
  const progress = progressOn(session, showProgress === true);
  const { logs, rows: logRows, faults } = await verifyWorkspaces(database, manifest, progress.onRows).finally(progress.done);
  const contradictingIds: string[] = [];
  for (const { id } of manifest.workspaces) if (await contradictsCheckpoint(database, id)) contradictingIds.push(id);
  session.ending = faults.length === 0 ? 'ok' : 'broken';
  await session.writeResult(
    { result: session.ending, input, rows, older_than_remembered: contradictingIds, verified: { logs, rows: logRows, faults } },
    [...faults, `${faults.length === 0 ? 'valid' : 'broken'}: ${logs} logs, ${logRows} rows`].join('\n'),
  );
  if (faults.length > 0) session.say('do not start a server on this database: a log is not valid, or does not match the backup');
  for (const id of contradictingIds)
    session.say(
      `workspace ${id}: a log does not continue from its checkpoint in the memory folder, because the backup lacks rows or ` +
        `has other rows; to continue from the backup, run \`ledger accept-restore --workspace ${id}\``,
    );
}

/**
 * Whether a log of the workspace does not continue from its checkpoint in the memory folder. In that case, the backup lacks rows that the
 * checkpoint covers, or has other rows.
 */
async function contradictsCheckpoint({ pool }: OpenDatabase, tenantId: string): Promise<boolean> {
  try {
    return Object.keys(await acceptRestore(pool, tenantId, { write: false })).length > 0;
  } catch (error) {
    // Nothing can be accepted: no log contradicts its checkpoint, there is no memory folder, or a head is missing or not valid.
    if (error instanceof RuleViolationError) return false;
    throw error;
  }
}

const NOTE = `
The database must be empty: without tables, or with the tables of the backup's version and no rows. The embedded database is created in
COUNTERSIGN_DATA_DIR if it does not exist. All rows are loaded in one transaction, so an interrupted load leaves no rows. If a log is
not valid, the rows stay in the database. The secrets must exist (in data/secrets or the environment), or be restored from the backup with
--with-secrets. A backup of an older version is migrated.
`;
