import type { Client } from 'pg';
import type { BackupReader } from '../backup/backup-reader.ts';
import { requireEmpty, requireKnownMigrations, restoreRows } from '../backup/restore-rows.ts';
import type { Config } from '../config/config.ts';
import { isDistributed } from '../database/citus.ts';
import { connectClient } from '../database/client.ts';
import { hasTables, isRetiredSigningKey } from '../database/copied-facts.ts';
import { knownMigrations, migrate } from '../database/migrate.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { signingKey, signingKeyId } from '../secrets/instance-signer.ts';
import { fingerprints, loadSecrets, type Secrets } from '../secrets/load-secrets.ts';
import { type AcquiredDatabase, acquireDatabase, asExitError } from './open-database.ts';

/** The callbacks of a restore. */
interface RestoreCallbacks {
  /** Receives lines for people. */
  say: (line: string) => void;
  /** Called after each loaded part with the number of loaded rows. */
  progress: ((rows: number) => void) | undefined;
  /** Called after the database was found to be empty, and before rows are loaded. */
  beforeLoad: () => void;
}

/**
 * Loads a backup into the configured database, which must be empty. The embedded one is created if it does not exist. Rows of an older
 * version are migrated afterwards.
 * @returns the database. The embedded one runs at least until `release`, so that it is not started twice.
 * @throws ExitError if the database cannot be used, if it or the configured secrets do not match the backup, or if the backup is damaged.
 */
export async function restoreDatabase(
  config: Config,
  reader: BackupReader,
  { say, progress, beforeLoad }: RestoreCallbacks,
): Promise<AcquiredDatabase> {
  const migrationCount = requireKnownMigrations(reader.manifest, knownMigrations());
  const secrets = loadSecrets(config, false);
  requireSecretsOf(reader, secrets);
  const acquired = await acquireDatabase(config, say, 'set-up');
  try {
    const client = await connectClient(acquired.owner, 'restore');
    try {
      if (await isDistributed(client)) throw new ExitError('refused', ON_CITUS_MESSAGE);
      if (!(await hasTables(client))) await migrate(acquired.owner, { migrationsMax: migrationCount });
      await requireEmpty(client, reader.manifest);
      beforeLoad();
      await restoreRows(client, reader, progress, () => requireUnretiredKey(client, secrets));
    } finally {
      await client.end();
    }
    await migrate(acquired.owner, { serverRole: acquired.serverRole });
    return acquired;
  } catch (error) {
    await acquired.release();
    throw asExitError(error);
  }
}

const ON_CITUS_MESSAGE =
  'the tables are distributed already; restore into a database without tables, and then run `countersign-server migrate --citus`';

/** Compares the configured secrets with the fingerprint and the key IDs in the manifest, before anything is written. */
function requireSecretsOf({ manifest: { instance } }: BackupReader, secrets: Secrets): void {
  if (fingerprints(secrets).master !== instance.masterFingerprint)
    throw new ExitError(
      'wrong_secret',
      'COUNTERSIGN_MASTER_SECRET (or the file master-secret) does not match the backup; set the secret of the backed-up instance ' +
        '(nothing was changed)',
    );
  const { signingKey: current, previousSigningKey: previous } = secrets;
  const configuredKeyIds = [current, ...(previous === undefined ? [] : [previous])].map((key) => signingKey('', key).keyid);
  if (!configuredKeyIds.some((keyid) => instance.liveSigningKeys.includes(keyid)))
    throw new ExitError(
      'wrong_secret',
      'COUNTERSIGN_SIGNING_KEY (or signing-key.pem) does not match the backup; set the key of the backed-up instance (nothing was changed)',
    );
}

/**
 * Refuses a current signing key that is retired in the backup. The manifest does not list retired keys, so this reads the loaded rows. A
 * current key that is not in the backup is accepted, because it may be new.
 */
async function requireUnretiredKey(client: Client, { signingKey: current }: Secrets): Promise<void> {
  if (await isRetiredSigningKey(client, signingKeyId(current)))
    throw new ExitError(
      'wrong_secret',
      'the key in COUNTERSIGN_SIGNING_KEY (or signing-key.pem) was retired; set the key that replaced the retired key (no row was restored)',
    );
}
