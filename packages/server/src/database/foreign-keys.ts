import pg, { type Client } from 'pg';

/** A foreign key between two tables that a backup copies. */
export interface ForeignKey {
  name: string;
  table: string;
  columns: string[];
  /** The table that the key refers to, and the columns there, in the order of `columns`. */
  target: string;
  targetColumns: string[];
  /** Whether the table has row-level security by tenant. */
  isByTenant: boolean;
}

const columnsOf = (relation: string, numbers: string) =>
  `ARRAY(SELECT a.attname::text FROM unnest(k.${numbers}) WITH ORDINALITY AS u (num, place)
           JOIN pg_catalog.pg_attribute a ON a.attrelid = k.${relation} AND a.attnum = u.num ORDER BY u.place)`;

const FOREIGN_KEYS = `
  SELECT k.conname::text AS name, c.relname::text AS table, ${columnsOf('conrelid', 'conkey')} AS columns,
         f.relname::text AS target, ${columnsOf('confrelid', 'confkey')} AS "targetColumns", c.relrowsecurity AS "isByTenant"
    FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
   WHERE k.contype = 'f' AND c.relnamespace = 'countersign'::regnamespace ORDER BY c.relname COLLATE "C", k.conname COLLATE "C"`;

/** The foreign keys of all tables. */
export const listForeignKeys = async (client: Client): Promise<ForeignKey[]> =>
  (await client.query<ForeignKey>(FOREIGN_KEYS)).rows;

/**
 * Whether a table has a row that refers to a missing row. Searches the rows of `tenantId`, or all rows if `tenantId` is undefined. Call it
 * in a transaction, because it sets the tenant until the transaction ends.
 */
export async function hasDanglingRow(client: Client, key: ForeignKey, tenantId: string | undefined): Promise<boolean> {
  const name = pg.escapeIdentifier;
  await client.query(`SELECT set_config('countersign.tenant_id', $1, true)`, [tenantId ?? '']);
  const isSetSql = key.columns.map((column) => `row.${name(column)} IS NOT NULL`).join(' AND ');
  const isSameSql = key.columns
    .map((column, index) => `target.${name(key.targetColumns[index]!)} = row.${name(column)}`)
    .join(' AND ');
  const ofTenantSql = tenantId === undefined ? '' : ` AND row.tenant_id = ${pg.escapeLiteral(tenantId)}`;
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM countersign.${name(key.table)} AS row WHERE ${isSetSql}${ofTenantSql}
        AND NOT EXISTS (SELECT FROM countersign.${name(key.target)} AS target WHERE ${isSameSql})) AS found`,
  );
  return rows[0]!.found;
}

/** Whether a statement failed because the schema does not match it: a column or a table that it uses was changed. */
export const isSchemaMismatch = (error: unknown): error is Error =>
  error instanceof Error && String((error as { code?: unknown }).code).startsWith('42');
