import type { KeyKind } from '@countersign/core/contract/scopes';
import type { Key } from '@countersign/core/portal/key-routes';
import { sql, type Transaction } from '../../database/transaction.ts';
import { expiryClock } from '../expiry-clock.ts';
import { instantText } from '../instant-text.ts';
import { instantKey, lookUp } from './fragments.ts';

/** The place of a key in the list: when it was minted, UTC with microseconds, and its prefix. */
export interface KeyPlace {
  at: string;
  prefix: string;
}

/** A listed key, and the time of its place. */
export type KeyListRow = Key & { place_at: string };

/** SQL for the columns of a KeyListRow. @param first the number of the first parameter, as for `expiryClock`. */
const columns = (first: number): string => `k.id, k.kind, k.prefix, k.name, k.scopes,
  CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= ${expiryClock(first)} THEN 'expired' ELSE 'active' END AS state,
  ${instantText('k.created_at')} AS created_at, ${instantText('k.rotated_at')} AS rotated_at, ${instantText('k.expires_at')} AS expires_at,
  ${instantText('k.revoked_at')} AS revoked_at, ${instantText('u.last_used_at')} AS last_used_at, ${instantKey('k.created_at')} AS place_at`;
const LAST_USE = lookUp('key_last_use', 'u', 'key_id', 'k.id');

const LIST = sql<KeyListRow>(
  'portal_list_keys',
  `SELECT ${columns(6)} FROM (
     SELECT * FROM countersign.ingestion_keys AS k
      WHERE k.tenant_id = $1 AND (k.created_at, k.prefix) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::text, '')) AND ($4::text IS NULL OR k.kind = $4)
      ORDER BY k.created_at DESC, k.prefix DESC LIMIT $5) AS k ${LAST_USE} ORDER BY k.created_at DESC, k.prefix DESC`,
);

/** Keys after a place, newest first, including revoked and expired ones, at most `limit`. `kind` null means keys of both kinds. */
export const listKeysPage = (
  tx: Transaction,
  kind: KeyKind | null,
  after: KeyPlace | null,
  limit: number,
): Promise<KeyListRow[]> =>
  tx.run(LIST, [tx.tenantId, after?.at ?? null, after?.prefix ?? null, kind, limit, ...tx.clock.expiryBounds()]);

const FIND = sql<KeyListRow>(
  'portal_find_key',
  `SELECT ${columns(3)} FROM countersign.ingestion_keys AS k ${LAST_USE} WHERE k.tenant_id = $1 AND k.prefix = $2`,
);

/** The key with a prefix; undefined if the tenant has none. */
export const findListedKey = async (tx: Transaction, prefix: string): Promise<KeyListRow | undefined> =>
  (await tx.run(FIND, [tx.tenantId, prefix, ...tx.clock.expiryBounds()]))[0];

const EVENTS = sql<{ seq: number; event_hash: string; document: string }>(
  'portal_list_key_events',
  `SELECT seq, encode(event_hash, 'hex') AS event_hash, document FROM countersign.key_events
    WHERE tenant_id = $1 AND seq < coalesce($2::bigint, 9223372036854775807) AND ($3::uuid IS NULL OR key_id = $3) ORDER BY seq DESC LIMIT $4`,
);

/**
 * Events of the key audit trail, latest first, at most `limit`, each with its canonical text and its hash.
 * @param keyId the key; null for the events of all keys.
 * @param below the events have numbers below this one; null for no limit.
 */
export const listKeyEvents = (
  tx: Transaction,
  keyId: string | null,
  below: number | null,
  limit: number,
): Promise<{ seq: number; event_hash: string; document: string }[]> => tx.run(EVENTS, [tx.tenantId, below, keyId, limit]);
