import type { Pool } from 'pg';
import { BrokenSealError } from '../database/broken-seals.ts';
import { type RawRow, rawName, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import { requireSeals, type Seals } from '../database/seals.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A tenant, which users call a workspace. */
export interface Tenant {
  id: string;
  name: string;
  createdAt: string;
}

/** The columns that the seal covers. */
export const TENANTS: SealedTable<Tenant> = {
  name: 'tenants',
  version: 1,
  columns: [
    { field: 'id', column: 'id', kind: 'plain' },
    { field: 'name', column: 'name', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
  ],
  identifyingFields: ['id'],
};

const COLUMNS = sealedColumns(TENANTS, 't');

/** A tenant, and whether its name could be verified. */
export interface VerifiedTenant extends Tenant {
  /** False if the row was changed outside the server. In that case `name` is the ID. */
  isSealed: boolean;
}

/** The tenant in a raw row. @param id the ID by which the row was found; by default the ID in the row. */
export function tenantIn(seals: Seals, raw: RawRow, id = String(raw[rawName(TENANTS, 'id')])): VerifiedTenant {
  const tenant = seals.openRow(TENANTS, '', raw, { id });
  if (tenant !== undefined) return { ...tenant, createdAt: shownInstant(tenant.createdAt), isSealed: true };
  return { id, name: id, createdAt: shownInstant(String(raw[rawName(TENANTS, 'createdAt')])), isSealed: false };
}

const INSERT = sql('insert_tenant', `INSERT INTO countersign.tenants (id, name, created_at, seal) VALUES ($1, $2, $3, $4)`);

/** Creates the tenant of this transaction. Several tenants may have the same name (docs/decisions/0030). */
export function insertTenant(tx: Transaction, name: string): Promise<unknown> {
  const tenant = { id: tx.tenantId, name, createdAt: sealedInstant(tx.clock.now()) };
  return tx.run(INSERT, [tenant.id, name, tenant.createdAt, tx.seals.ofRow(TENANTS, '', tenant)]);
}

/** The number of the advisory lock of `isTenantNameInUse`: the bytes of 'CSWKSP'. */
const NAMES_LOCK = 0x43_53_57_4b_53_50;

const LOCK_NAMES = sql('lock_tenant_names', `SELECT pg_advisory_xact_lock($1)`);
const IS_NAME_IN_USE = sql<{ found: boolean }>(
  'is_tenant_name_in_use',
  `SELECT EXISTS (SELECT FROM countersign.tenants WHERE name = $1) AS found`,
);

/** Whether a tenant has this name. Other calls of this function wait until the transaction ends. Only for acts of the operator. */
export async function isTenantNameInUse(tx: Transaction, name: string): Promise<boolean> {
  await tx.run(LOCK_NAMES, [NAMES_LOCK]);
  return (await tx.run(IS_NAME_IN_USE, [name]))[0]!.found;
}

const LOCK = sql<RawRow>('lock_tenant', `SELECT ${COLUMNS} FROM countersign.tenants AS t WHERE t.id = $1 FOR UPDATE`);
const RENAME = sql('rename_tenant', `UPDATE countersign.tenants SET name = $2, seal = $3 WHERE id = $1`);

/**
 * Renames the tenant of this transaction and returns its previous name; undefined if the name is the same.
 * @throws BrokenSealError if the row is missing or was changed outside the server.
 */
export async function renameTenant(tx: Transaction, name: string): Promise<string | undefined> {
  const [raw] = await tx.run(LOCK, [tx.tenantId]);
  const tenant = raw === undefined ? undefined : tx.seals.openRow(TENANTS, '', raw, { id: tx.tenantId });
  if (tenant === undefined) throw new BrokenSealError('tenants');
  if (tenant.name === name) return undefined;
  await tx.run(RENAME, [tx.tenantId, name, tx.seals.ofRow(TENANTS, '', { ...tenant, name })]);
  return tenant.name;
}

const FIND = sql<RawRow>('find_tenant', `SELECT ${COLUMNS} FROM countersign.tenants AS t WHERE t.id = $1`);

/** The tenant of this transaction; undefined if its row is missing. */
export async function findOwnTenant(tx: Transaction): Promise<VerifiedTenant | undefined> {
  const [raw] = await tx.run(FIND, [tx.tenantId]);
  return raw === undefined ? undefined : tenantIn(tx.seals, raw, tx.tenantId);
}

/** All tenants, by name. The table has no row-level security. */
export async function listTenants(pool: Pool): Promise<VerifiedTenant[]> {
  const { rows } = await pool.query<RawRow>(`SELECT ${COLUMNS} FROM countersign.tenants AS t ORDER BY t.name, t.id`);
  return rows.map((raw) => tenantIn(requireSeals(pool), raw));
}

/** The IDs of all tenants, by name. The seals are not verified. */
export async function listTenantIds(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM countersign.tenants ORDER BY name, id');
  return rows.map(({ id }) => id);
}

/**
 * The IDs of all tenants that have the head of a key audit trail or a row in `ingestion_keys`. Every tenant gets this head when it is
 * created. So the list also contains a tenant whose row in `tenants` was deleted. Of the rows under row-level security, the server can read
 * only these heads and keys across tenants.
 */
export async function listKeyOwnerIds(pool: Pool): Promise<string[]> {
  const { rows: heads } = await pool.query<{ id: string }>(
    `SELECT tenant_id AS id FROM countersign.log_heads WHERE log = 'keys'`,
  );
  const { rows: keys } = await pool.query<{ id: string }>('SELECT DISTINCT tenant_id AS id FROM countersign.ingestion_keys');
  return [...new Set([...heads, ...keys].map(({ id }) => id))];
}

/** The tenants with a name, oldest first, including those whose seal is invalid. */
export async function findTenantsByName(pool: Pool, name: string): Promise<VerifiedTenant[]> {
  const { rows } = await pool.query<RawRow>(
    `SELECT ${COLUMNS} FROM countersign.tenants AS t WHERE t.name = $1 ORDER BY t.created_at, t.id`,
    [name],
  );
  return rows.map((raw) => tenantIn(requireSeals(pool), raw));
}

/** The tenant with an ID, in upper or lower case; undefined if there is none, or the text is not an ID. */
export async function findTenantById(pool: Pool, id: string): Promise<VerifiedTenant | undefined> {
  const { rows } = await pool.query<RawRow>(`SELECT ${COLUMNS} FROM countersign.tenants AS t WHERE t.id::text = lower($1)`, [id]);
  return rows[0] === undefined ? undefined : tenantIn(requireSeals(pool), rows[0], id.toLowerCase());
}
