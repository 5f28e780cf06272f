import pg, { type Client } from 'pg';

/** A sequence and the last number that it issued. */
export interface CopiedSequence {
  name: string;
  last: number;
}

const SEQUENCES = `SELECT sequencename::text AS name, last_value AS last FROM pg_catalog.pg_sequences
   WHERE schemaname = 'countersign' AND sequencename <> 'migrations_id_seq' AND last_value IS NOT NULL ORDER BY sequencename`;

/**
 * The sequences that have issued a number, except the sequence of the table `migrations`. Call it after the rows are read, so that no row
 * has a higher number than its sequence.
 */
export const listSequences = async (client: Client): Promise<CopiedSequence[]> =>
  (await client.query<CopiedSequence>(SEQUENCES)).rows;

/** Makes the sequence `name` continue after the number `last`. */
export async function moveSequence(client: Client, { name, last }: CopiedSequence): Promise<void> {
  await client.query('SELECT setval($1::regclass, $2)', [`countersign.${pg.escapeIdentifier(name)}`, last]);
}

/** The head of a log in the snapshot of a backup: the number of leaves of its tree, and the tree's frontier. */
export interface CopiedHead {
  log: string;
  size: number;
  frontier: Uint8Array;
}

/** The heads of a tenant's logs, by log. Call it in a transaction: it sets the tenant until the transaction ends. */
export async function listHeads(client: Client, tenantId: string): Promise<CopiedHead[]> {
  await client.query(`SELECT set_config('countersign.tenant_id', $1, true)`, [tenantId]);
  const { rows } = await client.query<CopiedHead>(
    'SELECT log, tree_size AS size, frontier FROM countersign.log_heads WHERE tenant_id = $1 ORDER BY log',
    [tenantId],
  );
  return rows;
}

/** IDs of all tenants in the snapshot of a backup, or of all tenants that a restore has loaded. */
export const listCopiedTenants = async (client: Client): Promise<string[]> =>
  (await client.query<{ id: string }>('SELECT id FROM countersign.tenants ORDER BY id')).rows.map(({ id }) => id);

/**
 * IDs of the tenants that have the head of a key audit trail, or an ingestion key, but no row of `tenants`. Call it before a tenant is set:
 * these two tables can then be read across tenants.
 */
export const listMissingTenants = async (client: Client): Promise<string[]> =>
  (
    await client.query<{ id: string }>(
      `SELECT id FROM (SELECT tenant_id FROM countersign.log_heads WHERE log = 'keys' UNION SELECT tenant_id FROM countersign.ingestion_keys)
         AS owner (id) WHERE NOT EXISTS (SELECT FROM countersign.tenants AS t WHERE t.id = owner.id) ORDER BY id`,
    )
  ).rows.map(({ id }) => id);

/** The ID of the instance in the snapshot of a backup, and the fingerprints of its master secret and its first signing key. */
export interface CopiedInstance {
  id: string;
  master: string;
  signing: string;
}

/** The instance whose rows are copied; undefined if its row is missing. */
export async function findCopiedInstance(client: Client): Promise<CopiedInstance | undefined> {
  const { rows } = await client.query<CopiedInstance>(
    'SELECT id, master_secret_fingerprint AS master, signing_key_fingerprint AS signing FROM countersign.instance',
  );
  return rows[0];
}

/** IDs of the signing keys that are not retired. */
export const listLiveSigningKeys = async (client: Client): Promise<string[]> =>
  (
    await client.query<{ kid: string }>('SELECT kid FROM countersign.signing_keys WHERE retired_at IS NULL ORDER BY kid')
  ).rows.map(({ kid }) => kid);

/** Whether the key with this ID is a retired signing key. */
export async function isRetiredSigningKey(client: Client, kid: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM countersign.signing_keys WHERE kid = $1 AND retired_at IS NOT NULL', [kid]);
  return rows.length > 0;
}

/** Names of the migrations that ran, in order. */
export const listMigrations = async (client: Client): Promise<string[]> =>
  (await client.query<{ name: string }>('SELECT name FROM countersign.migrations ORDER BY name')).rows.map(({ name }) => name);

/** Whether the database has the table `countersign.migrations`, which every version creates. */
export async function hasTables(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT to_regclass('countersign.migrations') IS NOT NULL AS found`);
  return rows[0]!.found;
}
