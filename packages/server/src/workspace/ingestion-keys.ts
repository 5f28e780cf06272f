import { hash, randomBytes } from 'node:crypto';
import { type KeyKind, type KeyScope, SCOPES, type Scope } from '@countersign/core/contract/scopes';
import { formatIngestionKey, PREFIX_BYTES, SECRET_BYTES } from '@countersign/core/domain/ingestion-key';
import { type KeyEvent, readKeyEvent } from '@countersign/core/domain/key-event';
import type { KeyState, KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { digests } from '../crypto/digests.ts';
import { isOnCitus } from '../database/citus-connections.ts';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { advanceHead, lockLogs } from '../ledger/advance.ts';
import { awaitKeyEvent } from '../ledger/await-key-event.ts';
import { credentialOf, keyStates } from '../ledger/key-states.ts';
import { requireValidEvent } from '../ledger/valid-event.ts';
import { insertKey, type ListedKey, lockKey, markRevoked, replaceScopes, replaceSecret } from '../storage/ingestion-keys.ts';
import { insertKeyEvent, type KeyAction } from '../storage/key-events.ts';
import type { HeadToMove } from '../storage/log-heads.ts';
import { newId } from '../storage/new-id.ts';
import { type Actor, actorName, requireCurrentRole } from './actor.ts';
import { NotFoundError, RuleViolationError } from './rule-violation.ts';
import { requireName } from './wrong-input.ts';

/** The settings of a new key: an ingestion key with scopes, or a read token, whose only scope is `read`. */
export interface NewKey {
  name: string;
  scopes: readonly Scope[] | readonly ['read'];
  /** RFC 3339; null for a key that does not expire. */
  expiresAt: string | null;
}

/** Mints a key and returns its text, which is shown only once and never stored. */
export async function mintKey(pool: Pool, tenantId: string, key: NewKey, by: Actor): Promise<string> {
  requireName('the name', key.name);
  return changeKey(pool, tenantId, by, async ({ tx, record }) => {
    const kind: KeyKind = (key.scopes as readonly KeyScope[]).includes('read') ? 'read' : 'live';
    const prefix = randomBytes(PREFIX_BYTES).toString('hex');
    const { secret, secretSha256 } = newSecret();
    const row = { ...key, id: newId(), kind, prefix, secretSha256 };
    await insertKey(tx, row);
    record('minted', { ...row, credentialSha256: credentialOf(secretSha256) });
    return formatIngestionKey({ kind, prefix, secret });
  });
}

/** Gives a key a new secret and returns the new text; the old secret is rejected from the next request on. */
export async function rotateKey(pool: Pool, tenantId: string, prefix: string, by: Actor, kind?: KeyKind): Promise<string> {
  return changeKey(pool, tenantId, by, async ({ tx, keys, record }) => {
    const key = await requireUnrevokedKey(tx, keys, prefix, kind);
    const { secret, secretSha256 } = newSecret();
    await replaceSecret(tx, prefix, secretSha256);
    record('rotated', { ...key, credentialSha256: credentialOf(secretSha256) });
    return formatIngestionKey({ kind: key.kind, prefix, secret });
  });
}

/** Revokes a key permanently, even if its row is missing. The key is rejected from the next request on. */
export async function revokeKey(pool: Pool, tenantId: string, prefix: string, by: Actor, kind?: KeyKind): Promise<void> {
  return changeKey(pool, tenantId, by, async ({ tx, keys, record }) => {
    const key = requireUnrevoked(keys.key(prefix), await lockKey(tx, prefix), prefix, kind);
    await markRevoked(tx, prefix);
    record('revoked', key);
  });
}

/**
 * Sets the scopes of an ingestion key. They apply from the next request on.
 * @param from the expected current scopes; undefined for any.
 * @throws NotFoundError and RuleViolationError like `requireUnrevokedKey`.
 * @throws RuleViolationError for a read token, if the scopes are unchanged, or if the current scopes are not the expected ones.
 */
export async function changeScopes(
  pool: Pool,
  tenantId: string,
  { prefix, scopes, from }: { prefix: string; scopes: readonly Scope[]; from?: readonly Scope[] | undefined },
  by: Actor,
): Promise<void> {
  return changeKey(pool, tenantId, by, async ({ tx, keys, record }) => {
    const key = await requireUnrevokedKey(tx, keys, prefix);
    if (key.kind === 'read') throw new RuleViolationError(`${prefix} is the prefix of a read token, whose only scope is read`);
    if (from !== undefined && !areSameScopes(key.scopes, from))
      throw new RuleViolationError(
        `the scopes of key ${prefix} are now ${key.scopes.join(', ')}; reload the page and repeat the action`,
      );
    const newScopes = SCOPES.filter((scope) => scopes.includes(scope));
    if (areSameScopes(key.scopes, newScopes))
      throw new RuleViolationError(`key ${prefix} has the scopes ${newScopes.join(', ')} already`);
    await replaceScopes(tx, prefix, newScopes);
    record('scopes_changed', { ...key, scopes: newScopes });
  });
}

const areSameScopes = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((scope) => others.includes(scope));

/**
 * The key with a prefix, as the key audit trail records it.
 * @throws NotFoundError for an unknown prefix, or if the key has no row.
 * @throws RuleViolationError like `requireUnrevoked`.
 */
async function requireUnrevokedKey(tx: Transaction, keys: KeyState, prefix: string, kind?: KeyKind): Promise<KnownKey> {
  const row = await lockKey(tx, prefix);
  return requireUnrevoked(row === undefined ? undefined : keys.key(prefix), row, prefix, kind);
}

/**
 * Returns the key if it is not revoked.
 * @param row the row of the key; undefined if it was deleted outside the server.
 * @throws NotFoundError if there is no key.
 * @throws RuleViolationError if the key is revoked or of another kind: the command `tokens` changes only read tokens, and `keys` only
 *   ingestion keys.
 */
function requireUnrevoked(key: KnownKey | undefined, row: ListedKey | undefined, prefix: string, kind?: KeyKind): KnownKey {
  if (key === undefined)
    throw new NotFoundError(
      `this workspace has no key with the prefix ${prefix}; \`keys list\` and \`tokens list\` show its keys`,
    );
  if (kind !== undefined && key.kind !== kind)
    throw new RuleViolationError(
      `${prefix} is the prefix of ${key.kind === 'read' ? 'a read token: use `tokens`' : 'an ingestion key: use `keys`'}`,
    );
  if (key.isRevoked) {
    const when = row?.revokedAt == null ? '' : ` on ${row.revokedAt}`;
    throw new RuleViolationError(`key aa_${key.kind}_${prefix} was revoked${when}; mint a new one`);
  }
  return key;
}

/** Creates the secret part of a key. Only its SHA-256 is stored. */
function newSecret(): { secret: string; secretSha256: Buffer } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, secretSha256: hash('sha256', secret, 'buffer') };
}

/** The data of a key in its event. */
type KeyDescription = Omit<KnownKey, 'isRevoked'>;

/** The context of a change of a key. The head of the key audit trail is locked. */
interface KeyChange {
  tx: Transaction;
  /** The keys before the change. */
  keys: KeyState;
  /** Appends the event of the change. Call it once. */
  record(action: KeyAction, key: KeyDescription): void;
}

/**
 * Runs one change of a key, with its event in the key audit trail, in one transaction. On Citus it returns when the event is visible.
 * @throws OutcomeUnknownError if the event is committed but does not become visible in time.
 */
async function changeKey<T>(pool: Pool, tenantId: string, by: Actor, change: (context: KeyChange) => Promise<T>): Promise<T> {
  const { result, seq } = await inTenantTransaction(pool, tenantId, async (tx) => {
    const { keys: head } = await lockLogs(tx, ['keys']);
    const keys = await keyStates.atHead(tx, head);
    await requireCurrentRole(tx, by);
    const recordedBy = actorName(by);
    const result = await change({
      tx,
      keys,
      record: (action, key) => appendKeyEvent(tx, head, eventOf(tx, head, { action, key, recordedBy })),
    });
    return { result, seq: head.seq + 1 };
  });
  if (await isOnCitus(pool)) await awaitKeyEvent(pool, tenantId, seq);
  return result;
}

const eventOf = (
  tx: Transaction,
  head: HeadToMove,
  { action, key, recordedBy }: { action: KeyAction; key: KeyDescription; recordedBy: string },
): KeyEvent => ({
  version: 2,
  tenant_id: tx.tenantId,
  seq: head.seq + 1,
  id: newId(),
  recorded_at: head.now,
  recorded_by: recordedBy,
  action,
  key_id: key.id,
  kind: key.kind,
  prefix: key.prefix,
  name: key.name,
  scopes: [...key.scopes],
  // With milliseconds, as in the row.
  expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
  credential_sha256: key.credentialSha256,
});

function appendKeyEvent(tx: Transaction, head: HeadToMove, event: KeyEvent): void {
  const parsedEvent = readKeyEvent(event, { seq: head.seq + 1, tenantId: tx.tenantId }, digests);
  const { canonical, hash: eventHash } = requireValidEvent(tx, 'keys', parsedEvent);
  const leafData = [Buffer.from(eventHash, 'hex')];
  const { seq, id, recorded_at: recordedAt, recorded_by: recordedBy, action, key_id: keyId } = event;
  insertKeyEvent(tx, { seq, id, recordedAt, recordedBy, action, keyId, eventHash, document: canonical });
  tx.afterCommit(() => keyStates.applyCommitted(tx, head, [event], leafData));
  advanceHead(tx, 'keys', head, leafData, null);
}
