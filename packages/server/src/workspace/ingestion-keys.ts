import { hash, randomBytes } from 'node:crypto';
import { type KeyKind, type KeyScope, SCOPES, type Scope } from '@countersign/core/contract/scopes';
import { formatIngestionKey, PREFIX_BYTES, SECRET_BYTES } from '@countersign/core/domain/ingestion-key';
import { hashKeyEvent, type KeyEvent } from '@countersign/core/domain/key-event';
import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { digests } from '../digests.ts';
import { advance, lockLogs } from '../ledger/advance.ts';
import { newId } from '../new-id.ts';
import { insertKey, type ListedKey, lockKey, markRevoked, replaceScopes, replaceSecret } from '../storage/ingestion-keys.ts';
import { insertKeyEvent, type KeyAction } from '../storage/key-events.ts';
import { type Actor, actorName, requireRoleStill } from './actor.ts';
import { NotThere, Refusal } from './refusal.ts';
import { requireName } from './wrong-input.ts';

/** What a new key is to be: an ingestion key with scopes, or a read token, which has one scope of its own. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[] | readonly ['read'];
  /** RFC 3339; null for a key that does not expire. */
  expiresAt: string | null;
}

/** Mints a key and returns its text: shown this once, never stored. */
export async function mintKey(pool: Pool, tenantId: string, key: NewKey, by: Actor): Promise<string> {
  requireName('the name', key.name);
  return keyAct(pool, tenantId, by, async (tx, record) => {
    const kind: KeyKind = (key.scopes as readonly KeyScope[]).includes('read') ? 'read' : 'live';
    const prefix = randomBytes(PREFIX_BYTES).toString('hex');
    const { secret, secretSha256 } = newSecret();
    const row = { ...key, id: newId(), kind, prefix, secretSha256 };
    await insertKey(tx, row);
    await record('minted', row);
    return formatIngestionKey({ kind, prefix, secret });
  });
}

/** Gives a key a new secret and returns the new text; the old secret is dead with the next request. */
export async function rotateKey(pool: Pool, tenantId: string, prefix: string, by: Actor, kind?: KeyKind): Promise<string> {
  return keyAct(pool, tenantId, by, async (tx, record) => {
    const key = await liveKey(tx, prefix, kind);
    const { secret, secretSha256 } = newSecret();
    await replaceSecret(tx, prefix, secretSha256);
    await record('rotated', key);
    return formatIngestionKey({ kind: key.kind, prefix, secret });
  });
}

/** Ends a key for good, with the next request. */
export async function revokeKey(pool: Pool, tenantId: string, prefix: string, by: Actor, kind?: KeyKind): Promise<void> {
  return keyAct(pool, tenantId, by, async (tx, record) => {
    const key = await liveKey(tx, prefix, kind);
    await markRevoked(tx, prefix);
    await record('revoked', key);
  });
}

/** Gives an ingestion key other scopes, with its next request. Refuses those that it has. */
export async function changeScopes(
  pool: Pool,
  tenantId: string,
  { prefix, scopes }: { prefix: string; scopes: readonly Scope[] },
  by: Actor,
): Promise<void> {
  return keyAct(pool, tenantId, by, async (tx, record) => {
    const key = await liveKey(tx, prefix, 'live');
    const changed = SCOPES.filter((scope) => scopes.includes(scope));
    if (sameScopes(key.scopes, changed)) throw new Refusal(`key ${prefix} has the scopes ${changed.join(', ')} already`);
    await replaceScopes(tx, prefix, changed);
    await record('scopes_changed', { ...key, scopes: changed });
  });
}

const sameScopes = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((scope) => others.includes(scope));

/** A key that may still be changed, of a kind where one is asked for: `tokens` ends no ingestion key, `keys` no read token. */
async function liveKey(tx: Transaction, prefix: string, kind?: KeyKind): Promise<ListedKey> {
  const key = await lockKey(tx, prefix);
  if (key === undefined)
    throw new NotThere(
      `this workspace has no key with the prefix ${prefix}; \`keys list\` and \`tokens list\` show those it has`,
    );
  if (kind !== undefined && key.kind !== kind)
    throw new Refusal(`${prefix} is of ${key.kind === 'read' ? 'a read token: use `tokens`' : 'an ingestion key: use `keys`'}`);
  if (key.revokedAt !== null) throw new Refusal(`key aa_${key.kind}_${prefix} was revoked on ${key.revokedAt}; mint a new one`);
  return key;
}

/** Only the SHA-256 of the secret part's bytes, as they are sent, is stored. */
function newSecret(): { secret: string; secretSha256: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, secretSha256: hash('sha256', secret, 'buffer') };
}

/** What an event says of its key. */
type Described = Pick<ListedKey, 'id' | 'prefix' | 'name' | 'expiresAt'> & { scopes: readonly KeyScope[] };

/** One change of a key, with its event in the key audit trail in the same transaction (specification 3.3). The trail's head is locked first. */
async function keyAct<T>(
  pool: Pool,
  tenantId: string,
  by: Actor,
  act: (tx: Transaction, record: (action: KeyAction, key: Described) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  return inTenantTransaction(pool, tenantId, async (tx) => {
    const { keys: head } = await lockLogs(tx, ['keys']);
    await requireRoleStill(tx, by);
    const recordedBy = actorName(by);
    return act(tx, (action, key) => {
      const event: KeyEvent = {
        version: 1,
        tenant_id: tenantId,
        seq: head.seq + 1,
        id: newId(),
        recorded_at: head.now,
        recorded_by: recordedBy,
        action,
        key_id: key.id,
        prefix: key.prefix,
        name: key.name,
        scopes: [...key.scopes],
        expires_at: key.expiresAt,
      };
      const { canonical, hash: eventHash } = hashKeyEvent(event, digests);
      const row = {
        seq: event.seq,
        id: event.id,
        recordedAt: head.now,
        recordedBy,
        action,
        keyId: key.id,
        eventHash,
        document: canonical,
      };
      return Promise.all([insertKeyEvent(tx, row), advance(tx, 'keys', head, [Buffer.from(eventHash, 'hex')], null).sent]);
    });
  });
}
