import type pg from 'pg';
import { ExitError } from '../errors/exit-codes.ts';

/*
 * A database on several nodes: PostgreSQL with the extension Citus. The rows of one tenant are on one node, because all tables of tenants
 * except REFERENCE_TABLES are distributed by `tenant_id` in the same way (docs/scaling.md).
 */

/** Small tables that statements of every tenant read, or that are read before the tenant is known. Every node has a copy. */
const REFERENCE_TABLES: readonly string[] = ['tenants', 'people', 'ingestion_keys', 'memberships'];

/** Whether Citus is installed. The statement looks up the catalog table by name, so that it works without Citus too. */
const IS_INSTALLED = `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS installed`;

/** Whether any table of the schema is distributed. */
export async function isDistributed(queryable: Pick<pg.ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await queryable.query<{ installed: boolean }>(IS_INSTALLED);
  return rows[0]!.installed && (await readTables(queryable)).some(({ kind }) => kind === 'distributed');
}

/** A table of the schema. `kind` is how it is stored now. */
interface StoredTable {
  name: string;
  kind: 'distributed' | 'reference' | 'local';
  /** Whether its primary key contains the tenant. Such a table must be distributed, unless it is one of REFERENCE_TABLES. */
  isOfTenants: boolean;
}

const READ_TABLES = `
  SELECT c.relname AS name,
         CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.partmethod = 'n' AND p.repmodel = 't' THEN 'reference' ELSE 'local' END AS kind,
         EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                  WHERE i.indrelid = c.oid AND i.indisprimary AND a.attname = 'tenant_id') AS "isOfTenants"
    FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
   WHERE c.relnamespace = to_regnamespace('countersign') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
   ORDER BY c.relname`;

const readTables = async (queryable: Pick<pg.ClientBase, 'query'>): Promise<StoredTable[]> =>
  (await queryable.query<StoredTable>(READ_TABLES)).rows;

/**
 * The settings that migrations of distributed tables need. Citus considers triggers on distributed tables unsafe, because a trigger may
 * write to other nodes. The triggers of this schema write nothing: they only reject changes. A migration of several statements changes the
 * shards one after the other, because Citus rejects a change of the schema after statements that ran in parallel.
 */
export const MIGRATION_SETTINGS = `SET citus.enable_unsafe_triggers = on; SET citus.multi_shard_modify_mode = 'sequential'`;

const SETTINGS = `SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL client_min_messages = warning`;

/**
 * Distributes the tables that are not distributed yet, with their rows, in one transaction. Run it as the owner of the tables on the
 * coordinator, after MIGRATION_SETTINGS, while no server uses the database.
 * @returns the names of the tables that it distributed.
 */
export async function distributeTables(client: pg.ClientBase): Promise<string[]> {
  const tables = await readTables(client);
  const isReference = ({ name }: StoredTable) => REFERENCE_TABLES.includes(name);
  const references = tables.filter((table) => isReference(table) && table.kind === 'local');
  const distributed = tables.filter((table) => table.isOfTenants && !isReference(table) && table.kind === 'local');
  const first = tables.find(({ kind }) => kind === 'distributed') ?? distributed[0];
  if (references.length + distributed.length === 0) return [];
  await client.query(`BEGIN; ${SETTINGS}`);
  try {
    const keys = await dropForeignKeys(client, [...references, ...distributed]);
    for (const { name } of references) await storeOnNodes(client, name, `create_reference_table('countersign.${name}')`);
    for (const { name } of distributed) {
      const colocateWith = name === first!.name ? 'default' : `countersign.${first!.name}`;
      await storeOnNodes(
        client,
        name,
        `create_distributed_table('countersign.${name}', 'tenant_id', colocate_with => '${colocateWith}')`,
      );
    }
    for (const { table, name, definition } of keys)
      await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
  return [...references, ...distributed].map(({ name }) => name);
}

/**
 * Stores a table on the nodes. Citus copies its rows into the shards by COPY, which PostgreSQL refuses under row-level security. The owner
 * is exempt while row-level security is not forced.
 */
async function storeOnNodes(client: pg.ClientBase, table: string, call: string): Promise<void> {
  const { rows } = await client.query<{ forced: boolean }>(
    `SELECT relforcerowsecurity AS forced FROM pg_class WHERE oid = 'countersign.${table}'::regclass`,
  );
  const { forced } = rows[0]!;
  if (forced) await client.query(`ALTER TABLE countersign.${table} NO FORCE ROW LEVEL SECURITY`);
  await client.query(`SELECT ${call}`);
  if (forced) await client.query(`ALTER TABLE countersign.${table} FORCE ROW LEVEL SECURITY`);
}

interface ForeignKey {
  table: string;
  name: string;
  definition: string;
}

/**
 * Drops and returns the foreign keys from and to these tables, because Citus cannot distribute a table that a local one references. The
 * caller adds them again in the same transaction, with the same names.
 */
async function dropForeignKeys(client: pg.ClientBase, tables: readonly StoredTable[]): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `SELECT k.conrelid::regclass::text AS table, quote_ident(k.conname) AS name, pg_get_constraintdef(k.oid) AS definition
       FROM pg_constraint k WHERE k.contype = 'f' AND (k.conrelid = ANY ($1::regclass[]) OR k.confrelid = ANY ($1::regclass[]))
      ORDER BY 1, 2`,
    [tables.map(({ name }) => `countersign.${name}`)],
  );
  for (const { table, name } of rows) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  return rows;
}

const READ_CLUSTER = `
  SELECT (SELECT groupid = 0 FROM pg_dist_local_group) AS "isCoordinator",
         EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) AS "isCoordinatorKnown",
         (SELECT count(*)::integer FROM pg_dist_node WHERE groupid <> 0 AND isactive AND shouldhaveshards) AS workers`;

/** @throws ExitError `refused` if this is not the coordinator of a Citus cluster with workers that have its address. */
export async function requireCoordinator(client: pg.ClientBase): Promise<void> {
  const { rows: installed } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
  if (installed.length === 0)
    throw refused('the database has no extension citus; as a superuser, run on every node: CREATE EXTENSION citus');
  const { rows } = await client.query<{ isCoordinator: boolean; isCoordinatorKnown: boolean; workers: number }>(READ_CLUSTER);
  const { isCoordinator, isCoordinatorKnown, workers } = rows[0]!;
  if (!isCoordinator) throw refused('this node is a worker of Citus; connect to the coordinator');
  if (workers === 0) throw refused(`the cluster has no workers; as a superuser, add them: SELECT citus_add_node('HOST', PORT)`);
  if (!isCoordinatorKnown)
    throw refused(
      `the workers do not have the address of the coordinator; as a superuser, set it: SELECT citus_set_coordinator_host('HOST', PORT)`,
    );
}

const refused = (message: string): ExitError => new ExitError('refused', message);

const UPDATE_OF_COLUMNS = /UPDATE \([^)]*\)/;

/** Lets one transaction grant rights on several distributed tables. By default, Citus uses several connections, and refuses such grants. */
export const SEQUENTIAL_ON_CITUS = `SET LOCAL citus.multi_shard_modify_mode = 'sequential';`;

/**
 * Returns the rights of a role on tables in a form that Citus can grant. On tables that Citus stores, a right to update some columns
 * becomes a right to update all columns.
 * @param rightsOfTables the rights by the name of the table, as in GRANT.
 */
export async function rightsOnCitus(
  client: pg.ClientBase,
  rightsOfTables: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid WHERE relnamespace = 'countersign'::regnamespace`,
  );
  const citusTables = new Set(rows.map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(rightsOfTables).map(([table, rights]) => [
      table,
      citusTables.has(table) ? rights.replace(UPDATE_OF_COLUMNS, 'UPDATE') : rights,
    ]),
  );
}
