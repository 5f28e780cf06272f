import type { Pool } from 'pg';
import { instantText } from './instant-text.ts';

/** The public half of one of the instance's keys. Of the instance, not of a tenant: no row-level security. */
export interface StoredSigningKey {
  kid: string;
  /** 32 bytes. */
  publicKey: Uint8Array;
  createdAt: string;
  /** Null while it is live. */
  retiredAt: string | null;
  /** Since when a server signs by it; null while none has taken it. */
  signsSince: string | null;
}

/** All keys that ever signed, oldest first: ended ones stay listed, so that what they signed can still be checked. */
export async function listSigningKeys(pool: Pool): Promise<StoredSigningKey[]> {
  const { rows } = await pool.query<StoredSigningKey>(
    `SELECT kid, public_key AS "publicKey", ${instantText('created_at')} AS "createdAt", ${instantText('retired_at')} AS "retiredAt",
            ${instantText('signs_since')} AS "signsSince"
       FROM countersign.signing_keys ORDER BY created_at, kid`,
  );
  return rows;
}

/** Lists a key; nothing happens when it is listed already. */
export async function insertSigningKey(pool: Pool, kid: string, publicKey: Uint8Array): Promise<void> {
  await pool.query(`INSERT INTO countersign.signing_keys (kid, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING`, [
    kid,
    Buffer.from(publicKey),
  ]);
}

/** Notes that a server signs by these keys from now on. */
export async function markSigning(pool: Pool, kids: readonly string[]): Promise<void> {
  await pool.query(
    `UPDATE countersign.signing_keys SET signs_since = clock_timestamp() WHERE kid = ANY ($1::text[]) AND signs_since IS NULL`,
    [kids],
  );
}

/** Ends a live key; false when there is none of that id. */
export async function markSigningKeyRetired(pool: Pool, kid: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE countersign.signing_keys SET retired_at = clock_timestamp() WHERE kid = $1 AND retired_at IS NULL`,
    [kid],
  );
  return rowCount === 1;
}
