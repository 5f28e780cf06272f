import type { Pool } from 'pg';
import { clockOf } from '../database/clock.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant, shownInstant } from '../database/sealed-table.ts';
import { requireSeals } from '../database/seals.ts';
import { INSTANCE, type Instance } from './instance.ts';
import { authenticSigningKeys, type ChainedKey, missingPredecessor } from './signing-key-chain.ts';

/** A signing key of the instance: its public key and its times. It belongs to no tenant, so its table has no row-level security. */
export interface StoredSigningKey extends ChainedKey {
  createdAt: string;
  /** Null while the key is current. */
  retiredAt: string | null;
  /** When a server began to sign with the key; null if no server has. */
  signsSince: string | null;
}

/** The columns of a new key. */
export type NewSigningKey = Omit<StoredSigningKey, 'createdAt' | 'retiredAt' | 'signsSince'>;

/** The columns that the seal covers: all except the seal itself. */
export const SIGNING_KEYS: SealedTable<StoredSigningKey> = {
  name: 'signing_keys',
  version: 2,
  columns: [
    { field: 'kid', column: 'kid', kind: 'plain' },
    { field: 'publicKey', column: 'public_key', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
    { field: 'retiredAt', column: 'retired_at', kind: 'instant' },
    { field: 'signsSince', column: 'signs_since', kind: 'instant' },
    { field: 'predecessor', column: 'predecessor', kind: 'plain' },
    { field: 'predecessorSignature', column: 'predecessor_signature', kind: 'plain' },
    { field: 'resetFrom', column: 'reset_from', kind: 'plain' },
  ],
  identifyingFields: ['kid'],
};

/** All authentic keys (signing-key-chain.ts), oldest first. They include retired keys, whose signatures can still be verified. */
export async function listSigningKeys(pool: Pool): Promise<StoredSigningKey[]> {
  const rows = await readSigningKeys(pool);
  return rows.map((row) => ({
    ...row,
    createdAt: shownInstant(row.createdAt),
    retiredAt: row.retiredAt === null ? null : shownInstant(row.retiredAt),
    signsSince: row.signsSince === null ? null : shownInstant(row.signsSince),
  }));
}

/**
 * The authentic keys with valid seals, oldest first, with times to the microsecond. Reports the other rows as broken. Returns no keys if
 * the row of the instance, which names the first key, has an invalid seal.
 */
async function readSigningKeys(pool: Pool): Promise<StoredSigningKey[]> {
  const { instance, sealed } = await readSealedKeys(pool);
  const authentic = instance === undefined ? [] : authenticSigningKeys(instance, sealed);
  for (const { kid } of sealed.filter((key) => !authentic.includes(key))) {
    const missing = missingPredecessor(sealed, kid);
    const reason = missing === undefined ? undefined : predecessorFault(missing);
    requireSeals(pool).broken.report({ table: SIGNING_KEYS.name, tenantId: undefined, key: { kid }, reason });
  }
  return authentic.sort((one, other) => (one.createdAt + one.kid < other.createdAt + other.kid ? -1 : 1));
}

/** The row of the instance, and the keys with valid seals. No keys if the instance's row has an invalid seal. Reports invalid seals. */
async function readSealedKeys(pool: Pool): Promise<{ instance: Instance | undefined; sealed: StoredSigningKey[] }> {
  const { rows } = await pool.query<RawRow>(
    `SELECT ${sealedColumns(SIGNING_KEYS, 'k')}, ${sealedColumns(INSTANCE, 'i')}
       FROM countersign.signing_keys AS k CROSS JOIN countersign.instance AS i`,
  );
  const seals = requireSeals(pool);
  const instance = rows.length === 0 ? undefined : seals.openRow(INSTANCE, '', rows[0]!);
  if (instance === undefined) return { instance, sealed: [] };
  return { instance, sealed: rows.flatMap((raw) => seals.openRow(SIGNING_KEYS, '', raw) ?? []) };
}

/** The fault of a key whose predecessor's row cannot be used. */
export const predecessorFault = (predecessor: string): string =>
  `the row of its predecessor ${predecessor} is missing or not valid`;

/** The ID of the first predecessor, in the chain of a key, whose row is missing or has an invalid seal; undefined if there is none. */
export const findMissingPredecessor = async (pool: Pool, kid: string): Promise<string | undefined> =>
  missingPredecessor((await readSealedKeys(pool)).sealed, kid);

/** Whether the table has a row of this key. Its seal may be invalid. */
export async function isSigningKeyStored(pool: Pool, kid: string): Promise<boolean> {
  const { rows } = await pool.query('SELECT FROM countersign.signing_keys WHERE kid = $1', [kid]);
  return rows.length > 0;
}

/** Stores a new key. Does nothing if the key is stored already. */
export async function insertSigningKey(pool: Pool, key: NewSigningKey): Promise<void> {
  const createdAt = sealedInstant(clockOf(pool).now());
  const seal = requireSeals(pool).ofRow(SIGNING_KEYS, '', { ...key, createdAt, retiredAt: null, signsSince: null });
  const { kid, publicKey, predecessor, predecessorSignature, resetFrom } = key;
  await pool.query(INSERT, [
    ...[kid, Buffer.from(publicKey), createdAt, predecessor],
    ...[predecessorSignature === null ? null : Buffer.from(predecessorSignature), resetFrom, seal],
  ]);
}

const INSERT = `INSERT INTO countersign.signing_keys
  (kid, public_key, created_at, predecessor, predecessor_signature, reset_from, seal) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT DO NOTHING`;

/** Records that a server signs with these keys from now on. A time that was recorded earlier does not change. */
export async function markSigning(pool: Pool, kids: readonly string[]): Promise<void> {
  const now = sealedInstant(clockOf(pool).now());
  for (const kid of kids)
    await changeSigningKey(pool, kid, (key) => (key.signsSince === null ? { ...key, signsSince: now } : undefined));
}

/** Retires a current key; false if no current key has this ID. */
export async function markSigningKeyRetired(pool: Pool, kid: string): Promise<boolean> {
  const now = sealedInstant(clockOf(pool).now());
  return changeSigningKey(pool, kid, (key) => (key.retiredAt === null ? { ...key, retiredAt: now } : undefined));
}

const UPDATE = `UPDATE countersign.signing_keys SET retired_at = $2, signs_since = $3, seal = $4 WHERE kid = $1 AND seal = $5`;

/** The maximum number of attempts to change a key that other servers change concurrently. */
const TRIES_MAX = 10;

/**
 * Changes a key. If another server has changed it since it was read, reads it again; throws after TRIES_MAX attempts. Returns false if no
 * authentic key has this ID, or if `change` returns undefined.
 */
async function changeSigningKey(
  pool: Pool,
  kid: string,
  change: (key: StoredSigningKey) => StoredSigningKey | undefined,
): Promise<boolean> {
  const seals = requireSeals(pool);
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const key = (await readSigningKeys(pool)).find((each) => each.kid === kid);
    const changed = key === undefined ? undefined : change(key);
    if (key === undefined || changed === undefined) return false;
    const { rowCount } = await pool.query(UPDATE, [
      ...[kid, changed.retiredAt, changed.signsSince],
      ...[seals.ofRow(SIGNING_KEYS, '', changed), seals.ofRow(SIGNING_KEYS, '', key)],
    ]);
    if (rowCount === 1) return true;
  }
  throw new Error(`the row of signing_keys with kid ${kid} does not change: something in the database prevents the change`);
}
