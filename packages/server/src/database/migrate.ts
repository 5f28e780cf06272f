import { readdirSync } from 'node:fs';
import pg from 'pg';
import { ExitError } from '../errors/exit-codes.ts';
import {
  distributeTables,
  isDistributed,
  MIGRATION_SETTINGS,
  requireCoordinator,
  rightsOnCitus,
  SEQUENTIAL_ON_CITUS,
} from './citus.ts';
import { connectClient } from './client.ts';
import type { DatabaseAddress } from './driver-address.ts';
import { isMigrationRowMissing, putBackMigrationRows } from './migration-rows.ts';
import { MIGRATIONS_FOLDER } from './migrations-folder.ts';
import { hasSchema, requireNewSchema } from './new-schema.ts';
import { requireNoServers } from './running-servers.ts';
import { namesInSchema } from './schema-findings.ts';
import { separatingClient } from './separate-statements.ts';

/** The number of the advisory lock of a migration: the bytes of 'CSMIGR'. */
export const MIGRATION_LOCK = 0x43_53_4d_49_47_52;

/**
 * The schema of the database compared with the schema of this server. `empty`: there are no tables of Countersign, or the role may not read
 * them. `unreleased`: the schema is from before 0.1.0, and nothing upgrades it.
 */
export type SchemaLevel = 'empty' | 'unreleased' | 'older' | 'current' | 'newer';

/** Names of the migrations of this server, in order. */
export const knownMigrations = (): string[] =>
  readdirSync(MIGRATIONS_FOLDER)
    .filter((file) => /^\d{6}_.*\.sql$/.test(file))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort();

/** Whether these migrations are from a version before 0.1.0. Every released version has the first migrations of this version. */
export function isUnreleased(migrations: readonly string[]): boolean {
  const known = new Set(knownMigrations());
  return migrations.length > 0 && !migrations.some((name) => known.has(name));
}

/**
 * Whether the schema has Countersign's tables ($1) and this role may read them. A first start may have ended before it granted the rights.
 * Tables that no migration created do not count (docs/decisions/0047).
 */
const IS_READABLE = `SELECT coalesce(bool_or(relname = 'migrations')
     AND bool_and(has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(oid, 'SELECT')), false) AS readable
   FROM pg_class WHERE relnamespace = to_regnamespace('countersign') AND relkind IN ('r', 'p') AND relname = ANY ($1)`;

/**
 * Compares the applied migrations with those of this server. A schema that the role may not read counts as empty, because `migrate` then
 * grants the missing rights. A schema with only other tables also counts as empty; `migrate` refuses it.
 */
export async function schemaLevel(queryable: pg.Pool | pg.Client): Promise<SchemaLevel> {
  const { rows: tables } = await queryable.query<{ readable: boolean }>(IS_READABLE, [namesInSchema('table')]);
  if (tables[0]?.readable !== true) return 'empty';
  const { rows } = await queryable.query<{ name: string }>('SELECT name FROM countersign.migrations');
  // Another server is about to migrate: the table is created before the migrations, which all run in one transaction.
  if (rows.length === 0) return 'empty';
  if (isUnreleased(rows.map(({ name }) => name))) return 'unreleased';
  const known = new Set(knownMigrations());
  if (rows.some(({ name }) => !known.has(name))) return 'newer';
  return rows.length < known.size ? 'older' : 'current';
}

/** How the schema is brought to this server's level. */
export interface MigrateOptions {
  /** The role that the server runs as, if it is not the one that migrates. */
  serverRole?: string | undefined;
  /** Whether an older schema is migrated (the default). If false, `migrate` refuses it, because another server may be running on it. */
  mayUpgrade?: boolean;
  /**
   * The maximum number of migrations that run; by default all. A restore runs fewer in an empty database before it loads rows of an older
   * version.
   */
  migrationsMax?: number;
  /**
   * Distributes the tables over the nodes of a Citus cluster. If some tables are distributed already, the others are distributed even
   * without this option.
   */
  citus?: boolean;
  /**
   * Whether the schema has everything that this server's migrations create. If it has everything, but a migration is not recorded, the row
   * of the migration was deleted. `migrate` then puts the row back. Without this function, `migrate` fails in this case.
   */
  isComplete?: (client: pg.Client) => Promise<boolean>;
}

/** What `migrate` has done. */
export interface MigrateResult {
  /** The names of the migrations that ran. */
  migrations: string[];
  /** The names of the migrations whose deleted rows were put back. */
  putBack: string[];
  /** The names of the tables that were distributed. */
  distributed: string[];
  hasGranted: boolean;
}

/**
 * Brings the schema to this server's level and gives the server's role its rights. An advisory lock allows one migration at a time.
 * @throws ExitError if the schema cannot be migrated, if it is older and `mayUpgrade` is false, or if requireNoServers, requireNewSchema or
 * requireCoordinator throws.
 */
export async function migrate(
  address: DatabaseAddress,
  { serverRole, mayUpgrade = true, migrationsMax = Number.POSITIVE_INFINITY, citus = false, isComplete }: MigrateOptions = {},
): Promise<MigrateResult> {
  const client = await connectClient(address, 'migrate');
  try {
    // Two servers may start on an empty database at once: the second one waits, and then has nothing to do.
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const level = await schemaLevel(client);
    requireUpgradable(level);
    if (level === 'older' && !mayUpgrade) throw olderSchema();
    if (level === 'older') await requireNoServers(client);
    if (level === 'empty') await requireNewSchema(client);
    if (citus) await requireCoordinator(client);
    const isOnCitus = citus || (await isDistributed(client));
    if (isOnCitus) await client.query(MIGRATION_SETTINGS);
    let migrations: string[] = [];
    let putBack: string[] = [];
    try {
      migrations = await runMigrations(isOnCitus ? separatingClient(client) : client, migrationsMax);
    } catch (error) {
      if (!isMigrationRowMissing(error) || (await isComplete?.(client)) !== true) throw error;
      putBack = await putBackMigrationRows(client, knownMigrations());
    }
    const distributed = isOnCitus ? await distributeTables(client) : [];
    const hasGranted = serverRole !== undefined && (await grantServerRole(client, serverRole, isOnCitus));
    return { migrations, putBack, distributed, hasGranted };
  } finally {
    await client.end();
  }
}

/** Runs the migrations that the database does not record, at most `count`, in one transaction. Returns their names. */
async function runMigrations(client: pg.Client, count: number): Promise<string[]> {
  const { runner } = await import('node-pg-migrate'); // Loaded here, because it takes a moment and most starts migrate nothing.
  // PostgreSQL requires the right to create schemas even for CREATE SCHEMA IF NOT EXISTS of an existing one.
  const mustCreateSchema = !(await hasSchema(client));
  const run = await runner({
    dbClient: client,
    dir: MIGRATIONS_FOLDER,
    ignorePattern: '(?!\\d{6}_).*',
    direction: 'up',
    count,
    migrationsTable: 'migrations',
    schema: 'countersign',
    migrationsSchema: 'countersign',
    createSchema: mustCreateSchema,
    createMigrationsSchema: mustCreateSchema,
    singleTransaction: true,
    log: () => undefined,
  });
  return run.map(({ name }) => name);
}

/** @throws ExitError for a schema that this server can neither use nor migrate: `newer` or `unreleased`. */
export function requireUpgradable(level: SchemaLevel): void {
  if (level === 'newer')
    throw new ExitError('schema_newer', 'the database was migrated by a newer Countersign than this one; use the newer version');
  if (level === 'unreleased')
    throw new ExitError(
      'refused',
      'the database is from a Countersign before 0.1.0, which cannot be upgraded; nothing was changed. Export its logs with that version (`countersign-server ledger export`), then start with an empty database',
    );
}

/** The error of a schema that must be migrated first. */
export const olderSchema = (): ExitError =>
  new ExitError(
    'schema_older',
    'the schema of the database is older than this server; run `countersign-server migrate`, and then try again',
  );

/** The rights that the server's role has on tables in addition to INSERT and SELECT. On `migrations` it has only SELECT. */
const EXTRA_RIGHTS: Record<string, string> = {
  ingestion_keys: 'UPDATE (secret_sha256, scopes, name, rotated_at, revoked_at, expires_at)',
  key_last_use: 'UPDATE (last_used_at)',
  log_heads: 'UPDATE (seq, row_hash, last_recorded_at, tree_size, frontier, seal)',
  decision_keys: 'UPDATE (retired_at, seal)',
  signing_keys: 'UPDATE (retired_at, signs_since, seal)',
  idempotency_keys: 'DELETE',
  tenants: 'UPDATE (name, seal)',
  agents: 'UPDATE (risk_level, archived_at, name_skeleton, name_skeleton_caseless)',
  traces: 'UPDATE',
  log_records: 'DELETE, UPDATE (joined)',
  merged_spans: 'UPDATE',
  merged_traces: 'UPDATE',
  run_id_segments: 'DELETE',
  approvals: 'UPDATE',
  recertifications: 'UPDATE',
  people: 'UPDATE (name, password, password_changed_at, seal)',
  memberships: 'UPDATE (role, seal), DELETE',
  sessions: 'UPDATE (last_used_at), DELETE',
  one_time_links: 'DELETE',
  sign_in_attempts: 'UPDATE, DELETE',
};

/** The tables or sequences of this server's migrations that exist, as a list for SQL. */
async function listExisting(client: pg.Client, kind: 'table' | 'sequence'): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('countersign') AND relname = ANY ($1)`,
    [namesInSchema(kind)],
  );
  return rows.map(({ name }) => `countersign.${name}`).join(', ');
}

/**
 * Grants the server's role its rights on Countersign's tables. Returns false, and grants nothing, if the role owns the tables. Leaves out
 * tables that no migration created, because the owner of Countersign's tables may not grant rights on them.
 */
async function grantServerRole(client: pg.Client, role: string, isOnCitus: boolean): Promise<boolean> {
  const { rows } = await client.query<{ migrates: boolean }>('SELECT current_user = $1 AS migrates', [role]);
  if (rows[0]!.migrates) return false; // The role owns the tables, so REVOKE would remove the rights of the owner.
  const name = pg.escapeIdentifier(role);
  const extraRights = isOnCitus ? await rightsOnCitus(client, EXTRA_RIGHTS) : EXTRA_RIGHTS;
  const grants = Object.entries(extraRights).map(([table, rights]) => `GRANT ${rights} ON countersign.${table} TO ${name};`);
  const [tables, sequences] = [await listExisting(client, 'table'), await listExisting(client, 'sequence')];
  await client.query(`BEGIN;
    ${isOnCitus ? SEQUENTIAL_ON_CITUS : ''}
    REVOKE ALL ON ${tables} FROM ${name}; -- rights that an earlier version granted and this one does not
    GRANT USAGE ON SCHEMA countersign TO ${name};
    GRANT SELECT, INSERT ON ${tables} TO ${name};
    REVOKE INSERT ON countersign.migrations FROM ${name};
    GRANT USAGE ON SEQUENCE ${sequences} TO ${name};
    ${grants.join('\n')}
    COMMIT`);
  return true;
}
