import { hash, randomBytes } from 'node:crypto';
import type { Scope } from '@countersign/core/contract/scopes';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { formatIngestionKey, PREFIX_BYTES, SECRET_BYTES } from '@countersign/core/domain/ingestion-key';
import type { Pool } from 'pg';
import { v7 as uuidV7 } from 'uuid';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { insertKey, type ListedKey, lockKey, markRevoked, replaceSecret } from '../storage/ingestion-keys.ts';
import { insertKeyEvent, type KeyAction } from '../storage/key-events.ts';
import { lockHeads, moveHead } from '../storage/ledger.ts';
import { Refusal } from './refusal.ts';
import { requireLabel } from './wrong-input.ts';

/** Who performs an act: `operator` on the command line, `user:<uuid>` in the portal. */
export type ActingPerson = 'operator' | `user:${string}`;

/** What a new key is to be. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[];
  /** RFC 3339; null for a key that does not expire. */
  expiresAt: string | null;
}

/** Mints a key and returns its text: shown this once, never stored. */
export async function mintKey(pool: Pool, tenantId: string, key: NewKey, by: ActingPerson): Promise<string> {
  requireLabel('the name', key.name);
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const prefix = randomBytes(PREFIX_BYTES).toString('hex');
    const { secret, secretSha256 } = newSecret();
    const id = uuidV7();
    await insertKey(tx, { ...key, id, prefix, secretSha256 });
    await recordKeyEvent(tx, 'minted', { id, prefix, ...key }, by);
    return tx.commit(Promise.resolve(formatIngestionKey({ prefix, secret })));
  });
}

/** Gives a key a new secret and returns the new text; the old secret is dead with the next request. */
export async function rotateKey(pool: Pool, tenantId: string, prefix: string, by: ActingPerson): Promise<string> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const key = await liveKey(tx, prefix);
    const { secret, secretSha256 } = newSecret();
    await replaceSecret(tx, prefix, secretSha256);
    await recordKeyEvent(tx, 'rotated', key, by);
    return tx.commit(Promise.resolve(formatIngestionKey({ prefix, secret })));
  });
}

/** Ends a key for good, with the next request. */
export async function revokeKey(pool: Pool, tenantId: string, prefix: string, by: ActingPerson): Promise<void> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const key = await liveKey(tx, prefix);
    await markRevoked(tx, prefix);
    await recordKeyEvent(tx, 'revoked', key, by);
  });
}

async function liveKey(tx: Transaction, prefix: string): Promise<ListedKey> {
  const key = await lockKey(tx, prefix);
  if (key === undefined) throw new Refusal(`this workspace has no key aa_live_${prefix}; \`keys list\` shows those it has`);
  if (key.revokedAt !== null) throw new Refusal(`key aa_live_${prefix} was revoked on ${key.revokedAt}; mint a new one`);
  return key;
}

/** Only the SHA-256 of the secret part's bytes, as they are sent, is stored. */
function newSecret(): { secret: string; secretSha256: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, secretSha256: hash('sha256', secret, 'buffer') };
}

/** Writes the key audit trail in the transaction of the change (specification 3.3). */
async function recordKeyEvent(
  tx: Transaction,
  action: KeyAction,
  key: { id: string; prefix: string; name: string; scopes: readonly Scope[]; expiresAt: string | null },
  by: ActingPerson,
): Promise<void> {
  const head = (await lockHeads(tx, ['keys'])).get('keys');
  if (head === undefined) throw new Error(`tenant ${tx.tenantId} has no head of the key audit trail`);
  const seq = head.seq + 1;
  const id = uuidV7();
  const document = canonicalJson({
    version: 1,
    tenant_id: tx.tenantId,
    seq,
    id,
    recorded_at: head.now,
    recorded_by: by,
    action,
    key_id: key.id,
    prefix: key.prefix,
    name: key.name,
    scopes: [...key.scopes],
    expires_at: key.expiresAt,
  });
  await insertKeyEvent(tx, { seq, id, recordedAt: head.now, recordedBy: by, action, keyId: key.id, document });
  await moveHead(tx, 'keys', { ...head, seq });
}
