import type { Pool } from 'pg';
import type { Transaction } from '../database/transaction.ts';
import { sql } from '../database/transaction.ts';

/** A workspace (= tenant). */
export interface Tenant {
  id: string;
  name: string;
  createdAt: string;
}

const INSERT = sql('insert_tenant', `INSERT INTO countersign.tenants (id, name) VALUES ($1, $2)`);

/** Makes the tenant of this transaction. Several tenants may have the same name (docs/decisions/0030). */
export const insertTenant = (tx: Transaction, name: string): Promise<unknown> => tx.run(INSERT, [tx.tenantId, name]);

/** Number of the advisory lock that the operator's creation of a workspace holds: 'CSWKSP'. */
const NAMES_LOCK = 0x43_53_57_4b_53_50;

const LOCK_NAMES = sql('lock_tenant_names', `SELECT pg_advisory_xact_lock($1)`);
const IS_NAME_IN_USE = sql<{ found: boolean }>(
  'is_tenant_name_in_use',
  `SELECT EXISTS (SELECT FROM countersign.tenants WHERE name = $1) AS found`,
);

/** Whether a tenant has this name. For the operator alone. Until the transaction ends, others that ask the same wait. */
export async function isTenantNameInUse(tx: Transaction, name: string): Promise<boolean> {
  await tx.run(LOCK_NAMES, [NAMES_LOCK]);
  return (await tx.run(IS_NAME_IN_USE, [name]))[0]!.found;
}

const RENAME = sql<{ before: string }>(
  'rename_tenant',
  `UPDATE countersign.tenants AS t SET name = $2 FROM (SELECT name FROM countersign.tenants WHERE id = $1 FOR UPDATE) AS old
    WHERE t.id = $1 AND old.name <> $2 RETURNING old.name AS before`,
);

/** Renames the tenant of this transaction and returns its name before; undefined when it has that name. */
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
  const { rows } = await pool.query<Tenant>(`SELECT ${COLUMNS} FROM countersign.tenants ORDER BY name, id`);
  return rows;
}

/** The tenants of a name, oldest first. */
export async function findTenantsByName(pool: Pool, name: string): Promise<Tenant[]> {
  const { rows } = await pool.query<Tenant>(
    `SELECT ${COLUMNS} FROM countersign.tenants WHERE name = $1 ORDER BY tenants.created_at, id`,
    [name],
  );
  return rows;
}

/** The tenant of an ID; undefined also when the text is not an ID. */
export async function findTenantById(pool: Pool, id: string): Promise<Tenant | undefined> {
  const { rows } = await pool.query<Tenant>(`SELECT ${COLUMNS} FROM countersign.tenants WHERE id::text = lower($1)`, [id]);
  return rows[0];
}
