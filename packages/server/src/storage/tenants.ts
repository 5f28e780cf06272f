import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import { sql } from '../database/transaction.ts';

/** A workspace (= tenant). */
export interface Tenant {
  id: string;
  name: string;
  createdAt: string;
}

const INSERT = sql<{ id: string }>(
  'insert_tenant',
  `INSERT INTO countersign.tenants (id, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING id`,
);

/** Makes the tenant of this transaction; false when the name is taken. */
export const insertTenant = async (tx: Transaction, name: string): Promise<boolean> =>
  (await tx.run(INSERT, [tx.tenantId, name])).length === 1;

const INSERT_HEADS = sql(
  'insert_log_heads',
  `INSERT INTO countersign.log_heads (tenant_id, log) SELECT $1, log FROM unnest(ARRAY['audit', 'decisions', 'keys']) AS log`,
);

/** Makes the heads of the tenant's three logs. With the tenant, because FOR UPDATE on a missing row locks nothing. */
export const insertLogHeads = (tx: Transaction): Promise<unknown> => tx.run(INSERT_HEADS, [tx.tenantId]);

const RENAME = sql<{ before: string }>(
  'rename_tenant',
  `UPDATE countersign.tenants AS t SET name = $2 FROM (SELECT name FROM countersign.tenants WHERE id = $1 FOR UPDATE) AS old
    WHERE t.id = $1 AND old.name <> $2 RETURNING old.name AS before`,
);

/** Renames the tenant of this transaction and returns its name before; undefined when it has that name. A name that is taken is a unique violation. */
export const renameTenant = async (tx: Transaction, name: string): Promise<string | undefined> =>
  (await tx.run(RENAME, [tx.tenantId, name]))[0]?.before;

const FIND = sql<Tenant>(
  'find_tenant',
  `SELECT id, name, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt" FROM countersign.tenants WHERE id = $1`,
);

/** The tenant of this transaction. */
export const findOwnTenant = async (tx: Transaction): Promise<Tenant | undefined> => (await tx.run(FIND, [tx.tenantId]))[0];

const COLUMNS = `id, name, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt"`;

/** All tenants, by name. Across tenants: the table has no row-level security. */
export async function listTenants(pool: Pool): Promise<Tenant[]> {
  const { rows } = await pool.query<Tenant>(`SELECT ${COLUMNS} FROM countersign.tenants ORDER BY name`);
  return rows;
}

/** The tenant of a name. */
export async function findTenant(pool: Pool, name: string): Promise<Tenant | undefined> {
  const { rows } = await pool.query<Tenant>(`SELECT ${COLUMNS} FROM countersign.tenants WHERE name = $1`, [name]);
  return rows[0];
}

/** The tenant of an id; undefined also when the text is no id. */
export async function findTenantById(pool: Pool, id: string): Promise<Tenant | undefined> {
  const { rows } = await pool.query<Tenant>(`SELECT ${COLUMNS} FROM countersign.tenants WHERE id::text = lower($1)`, [id]);
  return rows[0];
}
