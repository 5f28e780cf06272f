import { acquireEmbeddedDatabase, EmbeddedDatabaseError } from '@countersign/embedded-database';
import pg from 'pg';
import { openMemoryFolder } from '../checkpoints/memory-folder.ts';
import type { Config } from '../config/config.ts';
import type { DatabaseAddress } from '../database/driver-address.ts';
import { migrate, olderSchema, requireUpgradable, type SchemaLevel, schemaLevel } from '../database/migrate.ts';
import { missingRightError } from '../database/missing-right.ts';
import { openPool } from '../database/pool.ts';
import { closePools, type OpenPools, openPools, type Pools, setMasterSecret } from '../database/pools.ts';
import { isSchemaComplete } from '../database/schema-findings.ts';
import { ExitError } from '../errors/exit-codes.ts';
import { setHeadStore } from '../ledger/head-memory.ts';
import { type InstanceSigner, openSigner } from '../secrets/instance-signer.ts';
import { checkSecrets, fingerprints, loadSecrets, type Secrets } from '../secrets/load-secrets.ts';
import { ensureInstance, findInstance } from '../storage/instance.ts';
import { newId } from '../storage/new-id.ts';
import { readSchemaFacts } from '../storage/schema-facts.ts';

/** An open database. It is reachable, has the right schema, and belongs to `secrets`. */
export interface OpenDatabase extends Pools {
  secrets: Secrets;
  /** Signs checkpoints and attestations. */
  signer: InstanceSigner;
  /** How the server's role connects. */
  address: DatabaseAddress;
  /** How the owner of the tables connects. In an external database it is the server's role, unless a role for migrations is configured. */
  owner: DatabaseAddress;
  /** Where the data is, as text for people. */
  where: string;
  /** The data folder of the embedded database; undefined for an external one. */
  embeddedIn?: string | undefined;
  /** Names of the migrations that ran to bring the schema to this server's level. */
  migrated: readonly string[];
  /** Closes the pools, and stops the embedded database if no other process uses it. */
  close(): Promise<void>;
}

/** The configured database: how to connect, and as which roles. The embedded database runs at least until `release`. */
export interface AcquiredDatabase {
  server: DatabaseAddress;
  owner: DatabaseAddress;
  /** The server's role, if the owner of the tables must grant rights to it. */
  serverRole: string | undefined;
  /** As in OpenDatabase. */
  where: string;
  embeddedIn: string | undefined;
  /** Stops the embedded database if no other process uses it. */
  release: () => Promise<void>;
}

/**
 * What opening the database may do.
 * - `use`: the embedded database, or the tables of an external one, must exist.
 * - `set-up`: the embedded database is created if it does not exist. In an external one, missing tables are created.
 * - `migrate`: like `set-up`, and an older schema of an external database is migrated.
 * - `distribute`: like `migrate`, and the tables of an external database are distributed over the nodes of Citus.
 * - `reset-signing-key`: like `use`, and the configured signing key replaces lost ones.
 *
 * `use`, `set-up` and `reset-signing-key` refuse an older schema of an external database, because another server may be running on it. The
 * embedded database is migrated in every mode.
 */
export type OpenMode = 'use' | 'set-up' | 'migrate' | 'distribute' | 'reset-signing-key';

/**
 * Opens the configured database.
 * @param say receives lines for people, for example that the embedded database is created.
 * @param open opens the pools, by default those of a server.
 * @throws ExitError if the configuration, the secrets, the schema or the database itself do not allow it.
 */
export async function openDatabase(
  config: Config,
  say: (line: string) => void,
  mode: OpenMode,
  open: OpenPools = openPools,
): Promise<OpenDatabase> {
  checkSecrets(config);
  // A configured memory folder is checked before anything else is opened. The default one is opened later: it is next to the data folder,
  // whose parent folder may not exist yet.
  const configuredMemory = config.isMemoryDirConfigured ? openMemoryFolder(config, say) : undefined;
  const { databaseUrl } = config;
  if (mode === 'distribute' && databaseUrl === undefined)
    throw new ExitError(
      'bad_configuration',
      'the embedded database has no Citus; set DATABASE_URL to the URL of the coordinator',
    );
  const acquired = await acquireDatabase(config, say, mode);
  const pools = open(acquired.server, config.databaseConnections);
  const close = async () => {
    await closePools(pools);
    await acquired.release();
  };
  try {
    const schemaMode = databaseUrl === undefined ? 'migrate' : mode;
    // A mode that does not migrate can read the level on a connection of the pools.
    const level = mayMigrate(schemaMode) ? await readSchemaLevel(acquired) : await schemaLevel(pools.lookupPool);
    const migrated = await ensureSchema(acquired, { level, mode: schemaMode }, say);
    const isNew = (await findInstance(pools.lookupPool)) === undefined;
    const secrets = loadSecrets(config, isNew);
    setMasterSecret(pools, secrets.masterSecret);
    const signer = await openInstance(pools.lookupPool, secrets, { reset: mode === 'reset-signing-key' });
    setHeadStore(pools.pool, configuredMemory ?? openMemoryFolder(config, say));
    return {
      ...pools,
      secrets,
      signer,
      address: acquired.server,
      owner: acquired.owner,
      where: acquired.where,
      embeddedIn: acquired.embeddedIn,
      migrated,
      close,
    };
  } catch (error) {
    await close();
    throw asExitError(error);
  }
}

/** Finds the configured database, and starts it if it is the embedded one. The caller releases it. */
export const acquireDatabase = async (config: Config, say: (line: string) => void, mode: OpenMode): Promise<AcquiredDatabase> =>
  config.databaseUrl === undefined ? acquireEmbedded(config, say, mode) : externalDatabase(config, config.databaseUrl);

async function acquireEmbedded({ dataDir }: Config, say: (line: string) => void, mode: OpenMode): Promise<AcquiredDatabase> {
  try {
    const embedded = await acquireEmbeddedDatabase({
      dataDir,
      notify: say,
      mayCreate: mode === 'set-up' || mode === 'migrate',
    });
    return {
      server: embedded.server,
      owner: embedded.owner,
      serverRole: embedded.server.user,
      where: embedded.dataDir,
      embeddedIn: embedded.dataDir,
      release: () => embedded.release(),
    };
  } catch (error) {
    if (error instanceof EmbeddedDatabaseError) throw new ExitError('database_away', error.message, { cause: error });
    throw error;
  }
}

function externalDatabase(config: Config, url: string): AcquiredDatabase {
  const { host, database, user } = readUrl('DATABASE_URL', url);
  const migrator = config.migrateDatabaseUrl;
  if (migrator !== undefined) readUrl('COUNTERSIGN_MIGRATE_DATABASE_URL', migrator);
  return {
    server: { connectionString: url },
    owner: { connectionString: migrator ?? url },
    serverRole: migrator === undefined ? undefined : user,
    where: `PostgreSQL ${host.startsWith('/') ? 'on a socket' : host}, database ${database}`,
    embeddedIn: undefined,
    release: async () => undefined,
  };
}

/** Host, database and user of a URL, as the driver reads them. The error does not repeat the URL, which may contain a password. */
function readUrl(variable: string, url: string): { host: string; database: string; user: string } {
  try {
    const { host, database = '', user = '' } = new pg.Client({ connectionString: url });
    return { host, database, user };
  } catch (error) {
    // The driver reads the files that sslrootcert, sslcert and sslkey name.
    if (error instanceof Error && 'syscall' in error)
      throw new ExitError('bad_configuration', `${variable} names a file that cannot be read: ${error.message}`);
    throw new ExitError(
      'bad_configuration',
      `${variable} cannot be read as postgres://USER:PASSWORD@HOST:PORT/DATABASE; percent-encode reserved characters (@ as %40)`,
    );
  }
}

/** Whether a mode changes an existing schema or creates one. */
const mayMigrate = (mode: OpenMode): boolean => mode !== 'use' && mode !== 'reset-signing-key';

/**
 * Brings the schema from `level` to the level of this server, if the mode allows it. Returns the names of the migrations that ran.
 * @throws ExitError if the mode does not allow it, or if `requireUpgradable` or `migrate` throws.
 */
async function ensureSchema(
  acquired: AcquiredDatabase,
  { level, mode }: { level: SchemaLevel; mode: OpenMode },
  say: (line: string) => void,
): Promise<string[]> {
  requireUpgradable(level);
  const { serverRole } = acquired;
  // People may have changed the rights in a database that is not embedded. So the command `migrate` always grants them again.
  const isGrantOnly = level === 'current' && mode === 'migrate' && serverRole !== undefined && acquired.embeddedIn === undefined;
  if (level === 'current' && mode !== 'distribute' && !isGrantOnly) return [];
  if (level === 'empty' && !mayMigrate(mode)) throw notSetUp(acquired);
  const mayUpgrade = mode === 'migrate' || mode === 'distribute';
  if (level === 'older' && !mayUpgrade) throw olderSchema();
  const { migrations, putBack, distributed, hasGranted } = await migrate(acquired.owner, {
    serverRole,
    mayUpgrade,
    citus: mode === 'distribute',
    isComplete: async (client) => isSchemaComplete(await readSchemaFacts(client)),
  });
  if (putBack.length > 0)
    say(
      `rows of the table migrations were deleted outside the server: ${putBack.join(', ')}; they were put back, because the schema is complete`,
    );
  // Another process may have migrated meanwhile.
  if (level === 'older' && migrations.length > 0) say(`migrated the database: ${migrations.join(', ')}`);
  if (level === 'empty' && migrations.length > 0) say(`created the tables in ${acquired.where}`);
  if (isGrantOnly && hasGranted) say(`granted the role ${serverRole} its rights on the tables`);
  if (distributed.length > 0) say(`distributed ${distributed.length} tables over the nodes of Citus`);
  return migrations;
}

/**
 * Reads the level of the schema on a separate connection. This process, or another one that starts at the same time, may migrate the
 * database. The migration would mistake a connection of the pools for a running server.
 */
async function readSchemaLevel({ server }: AcquiredDatabase): Promise<SchemaLevel> {
  const pool = openPool(server, { size: 1, name: 'start' });
  try {
    return await schemaLevel(pool);
  } finally {
    await pool.end();
  }
}

const notSetUp = ({ where }: AcquiredDatabase): ExitError =>
  new ExitError(
    'database_away',
    `there are no tables of Countersign in ${where}, or this role may not read them; \`migrate\`, \`serve\`, \`workspace create\` and ` +
      '`restore` create missing tables; with COUNTERSIGN_MIGRATE_DATABASE_URL, `migrate` also grants missing rights',
  );

/**
 * Opens the signer of the instance that the database belongs to. In a new database, it stores the instance first.
 * @param options.reset replaces lost signing keys with the configured one.
 * @throws ExitError if the row of the instance is missing or was changed, if the secrets do not belong to the database, or if `openSigner`
 *   throws. Verifiers could not verify signatures made with other secrets.
 */
export async function openInstance(pool: pg.Pool, secrets: Secrets, options: { reset?: boolean } = {}): Promise<InstanceSigner> {
  const configured = fingerprints(secrets);
  const stored = await ensureInstance(pool, {
    id: newId(),
    masterFingerprint: configured.master,
    signingFingerprint: configured.signing,
  });
  if (stored === undefined) {
    throw new ExitError(
      'refused',
      'the row in the table instance is missing: it was deleted outside the server; restore it from a backup (nothing was changed)',
    );
  }
  if (stored.masterFingerprint !== configured.master) {
    throw new ExitError(
      'wrong_secret',
      'COUNTERSIGN_MASTER_SECRET (or the file master-secret) is not the secret of this database; set the right one (nothing was changed)',
    );
  }
  if (!stored.isSealed) {
    throw new ExitError(
      'refused',
      'the seal of the row in the table instance is not valid: the row was changed outside the server; restore it from a backup (nothing was changed)',
    );
  }
  return openSigner(pool, stored, secrets, options);
}

/**
 * Turns an error of the database or of its connection, or a system error with a code, into an ExitError. Returns any other error unchanged.
 * The message does not contain the URL, which may contain a password.
 */
export function asExitError(error: unknown): unknown {
  if (error instanceof ExitError || !(error instanceof Error)) return error;
  const code = (error as { code?: string }).code ?? '';
  const rightError = missingRightError(error);
  if (rightError !== undefined) return rightError;
  if (
    /^(E(?!RR_)[A-Z_]+|[0-9A-Z]{5})$/.test(code) ||
    error instanceof pg.DatabaseError ||
    /timeout|terminated/i.test(error.message)
  ) {
    return new ExitError('database_away', `the database cannot be used: ${error.message || code}`, { cause: error });
  }
  return error;
}
