import type { Pool } from 'pg';

/** The facts of this installation. */
export interface Instance {
  id: string;
  masterFingerprint: string;
  signingFingerprint: string;
}

/** Keeps the facts of a new installation, or returns those kept before: the first server to start decides. */
export async function keepInstance(pool: Pool, instance: Instance): Promise<Instance> {
  await pool.query(
    `INSERT INTO countersign.instance (id, master_secret_fingerprint, signing_key_fingerprint) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [instance.id, instance.masterFingerprint, instance.signingFingerprint],
  );
  return (await findInstance(pool)) ?? instance;
}

/** The facts of the installation; undefined before its first start has kept them. */
export async function findInstance(pool: Pool): Promise<Instance | undefined> {
  const { rows } = await pool.query<Instance>(
    `SELECT id, master_secret_fingerprint AS "masterFingerprint", signing_key_fingerprint AS "signingFingerprint" FROM countersign.instance`,
  );
  return rows[0];
}
