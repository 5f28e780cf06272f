import type { Command } from 'commander';
import type { OpenDatabase } from '../app/open-database.ts';
import { createBackup } from '../backup/backup-writer.ts';
import { encryptSecrets } from '../backup/encrypted-secrets.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { type BackupParameters, writeBackup } from '../backup/write-backup.ts';
import { requireZstandard } from '../backup/zstandard.ts';
import { isDistributed } from '../database/citus.ts';
import { connectClient } from '../database/client.ts';
import { addedObjects, findingsOfBackup } from '../database/schema-findings.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { secretTexts } from '../secrets/load-secrets.ts';
import { readSchemaFacts } from '../storage/schema-facts.ts';
import { JSON_OPTION } from './arguments.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import { examples } from './help.ts';
import { progressOn } from './progress.ts';
import type { Session } from './session.ts';
import { verifyWorkspaces } from './verify-workspaces.ts';
import { VERSION } from './version.ts';

interface BackupOptions {
  output: string;
  withSecrets?: boolean;
  progress?: boolean;
}

/** `backup`. */
export function addBackup(program: Command, session: Session): void {
  program
    .command('backup')
    .description(
      'Back up the whole database while servers run, then verify every log against the backup. Exit 1: a log is not valid, or the backup cannot be restored completely.',
    )
    .requiredOption('--output <path>', 'file to create, or an empty folder; a name that ends with / creates the folder')
    .option('--with-secrets', 'include the secrets, encrypted with COUNTERSIGN_BACKUP_PASSPHRASE')
    .option('--progress', 'show progress on stderr even if it is not a terminal; ignored with --json')
    .option(...JSON_OPTION)
    .addHelpText('after', examples('backup --output countersign.backup', 'backup --output backups/today/ --with-secrets') + NOTE)
    .action(async (options: BackupOptions) => {
      requireZstandard();
      const passphrase = options.withSecrets === true ? requiredPassphrase(session) : undefined;
      limitHeapGrowth();
      await session.withDatabase(async (database) => {
        if (await isDistributed(database.lookupPool)) throw new ExitError('refused', ON_CITUS_MESSAGE);
        const progress = progressOn(session, options.progress === true);
        const restoreFaults: string[] = [];
        let leftOutObjects: string[] = [];
        const readSchema = async () => {
          const facts = await readSchemaFacts(database.ledgerPool);
          leftOutObjects = addedObjects(facts);
          const { faults, warnings } = findingsOfBackup(facts);
          restoreFaults.push(...faults);
          for (const warning of warnings) session.say(warning);
        };
        const parameters: BackupParameters = {
          madeAt: new Date().toISOString(),
          madeBy: VERSION,
          progress: progress.onRows,
          onRestoreFault: (fault) => restoreFaults.push(fault),
          whileLocked: readSchema,
          encryptSecrets:
            passphrase === undefined ? undefined : (id) => encryptSecrets(secretTexts(database.secrets), passphrase, id),
        };
        const manifest = await copyTo(options.output, database, parameters).finally(progress.done);
        if (leftOutObjects.length > 0)
          session.say(`left out, because Countersign did not create them: ${leftOutObjects.join(', ')}; back them up separately`);
        await verifyAndReport(session, options, database, { manifest, leftOutObjects, restoreFaults });
      });
    });
}

const ON_CITUS_MESSAGE =
  'the tables are distributed over several machines, which have no common snapshot; back up the machines themselves (docs/scaling.md)';

/** The configured passphrase for the secrets of a backup. @throws ExitError `bad_configuration` if it is not set. */
export function requiredPassphrase({ config: { backupPassphrase } }: Session): string {
  if (backupPassphrase !== undefined) return backupPassphrase;
  throw new ExitError(
    'bad_configuration',
    '--with-secrets needs COUNTERSIGN_BACKUP_PASSPHRASE or COUNTERSIGN_BACKUP_PASSPHRASE_FILE',
  );
}

async function copyTo(path: string, { address }: OpenDatabase, parameters: BackupParameters): Promise<BackupManifest> {
  const writer = await createBackup(path, new Date(parameters.madeAt));
  try {
    const client = await connectClient(address, 'backup');
    return await writeBackup(client, writer, parameters).finally(() => client.end());
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

async function verifyAndReport(
  session: Session,
  { output, progress: showProgress }: BackupOptions,
  database: OpenDatabase,
  { manifest, leftOutObjects, restoreFaults }: { manifest: BackupManifest; leftOutObjects: string[]; restoreFaults: string[] },
): Promise<void> {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  session.say(`wrote ${rows} rows of ${formatWorkspaceCount(manifest.workspaces.length)}; verifying the logs`);
  const progress = progressOn(session, showProgress === true);
  const { logs, rows: logRows, faults } = await verifyWorkspaces(database, manifest, progress.onRows).finally(progress.done);
  session.ending = faults.length + restoreFaults.length === 0 ? 'ok' : 'broken';
  const { workspaces, secretsSha256 } = manifest;
  const facts = {
    output,
    rows,
    workspaces: workspaces.length,
    with_secrets: secretsSha256 !== undefined,
    left_out: leftOutObjects,
  };
  const lines = [...restoreFaults, ...faults, `${session.ending === 'ok' ? 'valid' : 'broken'}: ${logs} logs, ${logRows} rows`];
  await session.writeResult(
    { result: session.ending, ...facts, restore_faults: restoreFaults, verified: { logs, rows: logRows, faults } },
    lines.join('\n'),
  );
  if (restoreFaults.length > 0)
    session.say(
      'the backup was written, but it cannot be restored completely: the database was changed outside the server; keep older backups',
    );
  if (faults.length > 0) session.say('the backup was written, but it contains a log that is not valid; keep older backups');
}

/** `1 workspace`, `2 workspaces`. */
export const formatWorkspaceCount = (count: number): string => (count === 1 ? '1 workspace' : `${count} workspaces`);

const NOTE = `
The backup contains the rows that were committed before it began. Only the user who runs this command can read the files of
the backup. In the backup, only the secrets are encrypted. Without --with-secrets, back up the secrets separately: nothing can be
restored without them. \`restore\` loads the backup into an embedded or an external database.
`;
