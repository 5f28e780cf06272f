import pg, { type Client } from 'pg';
import { copyIn, copyOut, type RowSink } from './copy-rows.ts';

/** A table that a backup copies. */
export interface CopiedTable {
  name: string;
  columns: string[];
  /** Whether the table has row-level security by tenant, so that it must be copied tenant by tenant. */
  isByTenant: boolean;
}

// `migrations` is written by the migrations themselves, so a restore does not need its rows.
const TABLES = `
  SELECT c.relname::text AS name, c.relrowsecurity AS "isByTenant",
         ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum) AS columns,
         ARRAY(SELECT DISTINCT f.relname::text FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
                WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS needs
    FROM pg_catalog.pg_class c
   WHERE c.relnamespace = 'countersign'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations'
   ORDER BY c.relname COLLATE "C"`;

/**
 * Every table whose rows a backup copies, each after the tables that its foreign keys refer to. Throws if foreign keys form a cycle. A
 * foreign key from a table to itself does not count.
 */
export async function listCopiedTables(client: Client): Promise<CopiedTable[]> {
  const { rows } = await client.query<CopiedTable & { needs: string[] }>(TABLES);
  const ordered: CopiedTable[] = [];
  const isReady = (needs: string[]) => needs.every((name) => ordered.some((table) => table.name === name));
  for (let remaining = rows; remaining.length > 0; ) {
    const ready = remaining.filter(({ needs }) => isReady(needs));
    if (ready.length === 0) throw new Error(`foreign keys form a cycle: ${remaining.map(({ name }) => name).join(', ')}`);
    ordered.push(...ready.map(({ name, columns, isByTenant }) => ({ name, columns, isByTenant })));
    remaining = remaining.filter((table) => !ready.includes(table));
  }
  return ordered;
}

const qualifiedName = ({ name }: CopiedTable): string => `countersign.${pg.escapeIdentifier(name)}`;
const columnList = ({ columns }: CopiedTable): string => columns.map((column) => pg.escapeIdentifier(column)).join(', ');

/**
 * Copies the rows of a table out: the rows of `tenantId`, or all rows if it is undefined. Call it in a transaction. Returns the number of
 * rows.
 * @param take receives the messages of the COPY.
 */
export function copyTableOut(client: Client, table: CopiedTable, tenantId: string | undefined, take: RowSink): Promise<number> {
  const select = `SELECT ${columnList(table)} FROM ${qualifiedName(table)}`;
  if (tenantId === undefined) return copyOut(client, `COPY (${select}) TO STDOUT (FORMAT binary)`, take);
  const tenant = pg.escapeLiteral(tenantId);
  // Both statements together take one round trip. A backup sends them for every table of every tenant.
  const setTenant = `SELECT set_config('countersign.tenant_id', ${tenant}, true)`;
  return copyOut(client, `${setTenant}; COPY (${select} WHERE tenant_id = ${tenant}) TO STDOUT (FORMAT binary)`, take);
}

/** Copies one part of a table's rows into the table. Returns the number of rows. */
export const copyTableIn = (client: Client, table: CopiedTable, part: Uint8Array): Promise<number> =>
  copyIn(client, `COPY ${qualifiedName(table)} (${columnList(table)}) FROM STDIN (FORMAT binary)`, part);

/** Whether an error means that a table rejected a row: the row violates a constraint, or a value is not valid for its column. */
export const isRowRejection = (error: unknown): error is Error =>
  error instanceof Error && /^2[23]/.test(String((error as { code?: unknown }).code));

/**
 * Runs `work` while row-level security of the table does not apply to its owner. So one statement can read or write the rows of all
 * tenants. Call it in a transaction as the owner. If `work` fails, roll the transaction back, which restores row-level security.
 */
export async function withoutForcedRowSecurity(client: Client, table: CopiedTable, work: () => Promise<void>): Promise<void> {
  if (!table.isByTenant) return work();
  await client.query(`ALTER TABLE ${qualifiedName(table)} NO FORCE ROW LEVEL SECURITY`);
  await work();
  await client.query(`ALTER TABLE ${qualifiedName(table)} FORCE ROW LEVEL SECURITY`);
}

/** Collects statistics of all copied tables. Without them, plans are poor until autovacuum runs. */
export async function analyzeTables(client: Client): Promise<void> {
  for (const table of await listCopiedTables(client)) await client.query(`ANALYZE ${qualifiedName(table)}`);
}

/** The name of the first table that has a row, of any tenant; undefined if all are empty. The role must own the tables. */
export async function findFilledTable(client: Client, tables: readonly CopiedTable[]): Promise<string | undefined> {
  await client.query('BEGIN');
  try {
    for (const table of tables) {
      let hasRow = false;
      await withoutForcedRowSecurity(client, table, async () => {
        const { rows } = await client.query<{ found: boolean }>(`SELECT EXISTS (SELECT FROM ${qualifiedName(table)}) AS found`);
        hasRow = rows[0]!.found;
      });
      if (hasRow) return table.name;
    }
    return undefined;
  } finally {
    await client.query('ROLLBACK');
  }
}
