import type { Pool } from 'pg';
import { type RawRow, type SealedTable, sealedColumns } from '../database/sealed-table.ts';
import { requireSeals } from '../database/seals.ts';

/** An instance of the service: its ID, and the fingerprints of its secrets. */
export interface Instance {
  id: string;
  masterFingerprint: string;
  /** The fingerprint of the first signing key. */
  signingFingerprint: string;
}

/** The columns that the seal covers. The table has one row. */
export const INSTANCE: SealedTable<Instance> = {
  name: 'instance',
  version: 1,
  columns: [
    { field: 'id', column: 'id', kind: 'plain' },
    { field: 'masterFingerprint', column: 'master_secret_fingerprint', kind: 'plain' },
    { field: 'signingFingerprint', column: 'signing_key_fingerprint', kind: 'plain' },
  ],
  identifyingFields: ['id'],
};

/** The stored instance, and whether its seal is valid. With another master secret, the seal is not valid. */
export interface StoredInstance extends Instance {
  isSealed: boolean;
}

/**
 * Returns the stored instance. If none is stored, first stores `instance`, so the server that starts first determines it. Returns undefined
 * if the row is missing although the database has signing keys or workspaces.
 */
export async function ensureInstance(pool: Pool, instance: Instance): Promise<StoredInstance | undefined> {
  const seals = requireSeals(pool);
  const raw = (await readInstance(pool)) ?? (await insertInstance(pool, instance));
  if (raw === undefined) return undefined;
  const { id, masterFingerprint, signingFingerprint } = raw;
  const isOtherSecret = masterFingerprint !== instance.masterFingerprint;
  const opened = isOtherSecret ? undefined : seals.openRow(INSTANCE, '', raw);
  return { ...(opened ?? { id, masterFingerprint, signingFingerprint }), isSealed: opened !== undefined };
}

/** Inserts the row, unless another server was first or the database is not new. Returns the stored row, if any. */
async function insertInstance(pool: Pool, instance: Instance): Promise<(RawRow & Instance) | undefined> {
  await pool.query(
    `INSERT INTO countersign.instance (id, master_secret_fingerprint, signing_key_fingerprint, seal)
     SELECT $1::uuid, $2::text, $3::text, $4::bytea
      WHERE NOT EXISTS (SELECT FROM countersign.signing_keys) AND NOT EXISTS (SELECT FROM countersign.tenants)
     ON CONFLICT DO NOTHING`,
    [instance.id, instance.masterFingerprint, instance.signingFingerprint, requireSeals(pool).ofRow(INSTANCE, '', instance)],
  );
  return readInstance(pool);
}

async function readInstance(pool: Pool): Promise<(RawRow & Instance) | undefined> {
  const { rows } = await pool.query<RawRow & Instance>(
    `SELECT ${INSTANCE_COLUMNS}, ${sealedColumns(INSTANCE, 'i')} FROM countersign.instance AS i`,
  );
  return rows[0];
}

const INSTANCE_COLUMNS = `i.id, i.master_secret_fingerprint AS "masterFingerprint", i.signing_key_fingerprint AS "signingFingerprint"`;

/** The stored instance; undefined before the first start. Its seal is not verified: see `ensureInstance`. */
export async function findInstance(pool: Pool): Promise<Instance | undefined> {
  const { rows } = await pool.query<Instance>(`SELECT ${INSTANCE_COLUMNS} FROM countersign.instance AS i`);
  return rows[0];
}
