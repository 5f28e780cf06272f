import type { KeyKind, KeyScope } from '@countersign/core/contract/scopes';
import type { Pool } from 'pg';
import { isOnCitus } from '../database/citus-connections.ts';
import { type Statement, sql, type Transaction } from '../database/transaction.ts';
import { instantText } from './instant-text.ts';

/** The row of a key. It must be compared with the key audit trail before use (ledger/key-states.ts). */
export interface KeyRecord {
  prefix: string;
  tenantId: string;
  keyId: string;
  /** 32 bytes. */
  secretSha256: Buffer;
  /** The seal in the head of the workspace's key audit trail; null if the head is missing. */
  trailSeal: Uint8Array | null;
}

/**
 * Reads the keys with the prefixes $1, of all tenants. The coordinator of Citus cannot run this statement, but each node can run it on its
 * own shards (keys-on-nodes.ts).
 */
export const FIND_KEYS: Statement<KeyRecord> = {
  name: 'find_keys',
  text: `SELECT k.prefix, k.tenant_id AS "tenantId", k.id AS "keyId", k.secret_sha256 AS "secretSha256",
                (SELECT head.seal FROM countersign.log_heads AS head WHERE head.tenant_id = k.tenant_id AND head.log = 'keys') AS "trailSeal"
           FROM countersign.ingestion_keys AS k WHERE k.prefix = ANY ($1::text[])`,
};

/**
 * The keys with these prefixes, of all tenants. One call serves the lookups of many requests. Keys are never cached, so every server
 * rejects a revoked key, or the previous secret of a rotated key, at once.
 */
export async function findKeys(pool: Pool, prefixes: readonly string[]): Promise<KeyRecord[]> {
  const onCitus = isOnCitus(pool);
  if (onCitus === true || (onCitus !== false && (await onCitus))) return findKeysOnCitus(pool, prefixes);
  const { rows } = await pool.query<KeyRecord>({ ...FIND_KEYS, values: [prefixes] });
  return rows;
}

/**
 * The coordinator has the keys, but the heads of the trails are on the nodes of their tenants. No single statement can read both through
 * the coordinator. A key that changes between the two statements does not match its trail, and is read again (ledger/key-states.ts).
 */
async function findKeysOnCitus(pool: Pool, prefixes: readonly string[]): Promise<KeyRecord[]> {
  const { rows: keys } = await pool.query<Omit<KeyRecord, 'trailSeal'>>({
    name: 'find_keys_without_trails',
    text: `SELECT prefix, tenant_id AS "tenantId", id AS "keyId", secret_sha256 AS "secretSha256"
             FROM countersign.ingestion_keys WHERE prefix = ANY ($1::text[])`,
    values: [prefixes],
  });
  if (keys.length === 0) return [];
  const heads = await findTrailHeads(pool, [...new Set(keys.map(({ tenantId }) => tenantId))]);
  return keys.map((key) => ({ ...key, trailSeal: heads.get(key.tenantId)?.seal ?? null }));
}

/** The head of a key audit trail as it is stored. It is not verified. */
interface TrailHead {
  tenantId: string;
  /** The number of events. */
  size: number;
  seal: Uint8Array | null;
}

/** The heads of the key audit trails of these tenants, by tenant. */
export async function findTrailHeads(pool: Pool, tenantIds: readonly string[]): Promise<ReadonlyMap<string, TrailHead>> {
  const { rows } = await pool.query<TrailHead>({
    name: 'find_key_trails',
    text: `SELECT tenant_id AS "tenantId", seq AS size, seal FROM countersign.log_heads WHERE log = 'keys' AND tenant_id = ANY ($1::uuid[])`,
    values: [tenantIds],
  });
  return new Map(rows.map((head) => [head.tenantId, head]));
}

/** The row of a key, to be compared with the key audit trail. */
export interface KeyFacts extends Pick<ListedKey, 'id' | 'kind' | 'prefix' | 'name' | 'scopes' | 'expiresAt'> {
  secretSha256: Buffer;
  isRevoked: boolean;
}

const READ_FACTS = sql<KeyFacts>(
  'read_key_facts',
  `SELECT id, kind, prefix, name, scopes, secret_sha256 AS "secretSha256", ${instantText('expires_at')} AS "expiresAt", revoked_at IS NOT NULL AS "isRevoked"
     FROM countersign.ingestion_keys WHERE tenant_id = $1 ORDER BY created_at, prefix`,
);

/** The rows of all keys of the tenant, oldest first. */
export const readKeyFacts = (tx: Transaction): Promise<KeyFacts[]> => tx.run(READ_FACTS, [tx.tenantId]);

/** A key as shown to its workspace. It never contains the secret or its hash. */
export interface ListedKey {
  id: string;
  kind: KeyKind;
  prefix: string;
  name: string;
  scopes: KeyScope[];
  createdAt: string;
  rotatedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
}

const LISTED = `k.id, k.kind, k.prefix, k.name, k.scopes, ${instantText('k.created_at')} AS "createdAt", ${instantText('k.rotated_at')} AS "rotatedAt",
  ${instantText('k.expires_at')} AS "expiresAt", ${instantText('k.revoked_at')} AS "revokedAt", ${instantText('u.last_used_at')} AS "lastUsedAt"`;

const LOCK = sql<ListedKey>(
  'lock_key',
  `SELECT ${LISTED} FROM countersign.ingestion_keys AS k
     LEFT JOIN countersign.key_last_use AS u ON u.tenant_id = k.tenant_id AND u.key_id = k.id
    WHERE k.tenant_id = $1 AND k.prefix = $2 FOR UPDATE OF k`,
);

/** Locks and returns the tenant's key with a prefix; undefined if there is none. */
export const lockKey = async (tx: Transaction, prefix: string): Promise<ListedKey | undefined> =>
  (await tx.run(LOCK, [tx.tenantId, prefix]))[0];

const INSERT = sql(
  'insert_key',
  `INSERT INTO countersign.ingestion_keys (tenant_id, id, kind, prefix, name, scopes, secret_sha256, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz)`,
);

/** Stores a new key: the SHA-256 of its secret, never the secret. */
export const insertKey = (tx: Transaction, key: NewKeyRow): Promise<unknown> =>
  tx.run(INSERT, [tx.tenantId, key.id, key.kind, key.prefix, key.name, key.scopes, key.secretSha256, key.expiresAt]);

/** A key ready to be stored. */
export interface NewKeyRow {
  id: string;
  kind: KeyKind;
  prefix: string;
  name: string;
  scopes: readonly KeyScope[];
  secretSha256: Buffer;
  expiresAt: string | null;
}

const ROTATE = sql(
  'rotate_key',
  `UPDATE countersign.ingestion_keys SET secret_sha256 = $3, rotated_at = statement_timestamp() WHERE tenant_id = $1 AND prefix = $2`,
);

/** Replaces the secret of a key. The previous secret is rejected from the next request on. */
export const replaceSecret = (tx: Transaction, prefix: string, secretSha256: Buffer): Promise<unknown> =>
  tx.run(ROTATE, [tx.tenantId, prefix, secretSha256]);

const REPLACE_SCOPES = sql(
  'replace_key_scopes',
  `UPDATE countersign.ingestion_keys SET scopes = $3 WHERE tenant_id = $1 AND prefix = $2`,
);

/** Replaces the scopes of a key, from the next request on. */
export const replaceScopes = (tx: Transaction, prefix: string, scopes: readonly KeyScope[]): Promise<unknown> =>
  tx.run(REPLACE_SCOPES, [tx.tenantId, prefix, scopes]);

const REVOKE = sql(
  'revoke_key',
  `UPDATE countersign.ingestion_keys SET revoked_at = statement_timestamp() WHERE tenant_id = $1 AND prefix = $2`,
);

/** Revokes a key permanently. */
export const markRevoked = (tx: Transaction, prefix: string): Promise<unknown> => tx.run(REVOKE, [tx.tenantId, prefix]);

const TOUCH = sql(
  'touch_key',
  `INSERT INTO countersign.key_last_use AS kept (tenant_id, key_id, last_used_at) VALUES ($1, $2, statement_timestamp())
       ON CONFLICT (tenant_id, key_id) DO UPDATE SET last_used_at = excluded.last_used_at
    WHERE excluded.last_used_at - kept.last_used_at > interval '1 minute'`,
);

/** Records that a key was used, at most once a minute. */
export const touchKey = (tx: Transaction, keyId: string): Promise<unknown> => tx.run(TOUCH, [tx.tenantId, keyId]);
