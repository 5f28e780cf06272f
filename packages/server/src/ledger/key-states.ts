import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkKeyEvent, KEY_EVENT_DOMAIN, type KeyEvent } from '@countersign/core/domain/key-event';
import { KeyState, type KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { COMMIT_GAP_MS_MAX, isOnCitus } from '../database/citus-connections.ts';
import { requireSeals } from '../database/seals.ts';
import { inTenantTransaction } from '../database/transaction.ts';
import { findKeys, type KeyRecord } from '../storage/ingestion-keys.ts';
import { readKeyEvents } from '../storage/key-events.ts';
import { checkStore } from './head-memory.ts';
import { LogFold } from './log-fold.ts';

/**
 * The states of the key audit trails: the keys of each workspace, including revoked ones. Keys are authenticated only with these states.
 */
export const keyStates = new LogFold<KeyEvent, KeyState>({
  log: 'keys',
  domain: KEY_EVENT_DOMAIN,
  read: readKeyEvents,
  parse: checkKeyEvent,
  create: () => new KeyState(),
  weight: ({ keyCount }) => keyCount,
  weightMax: 200_000,
});

/** The hash of a key's secret in events: the SHA-256 of the stored hash. */
export const credentialOf = (secretSha256: Uint8Array): string => hash('sha256', secretSha256, 'hex');

/** The keys of rows that were verified. Requests of one tick with the same key share its row, so the row is verified once. */
const verifiedRows = new WeakMap<KeyRecord, KnownKey>();

/**
 * The key of a row, from the key audit trail; undefined if the row differs from the trail. Such a row is reported, unless the trail has
 * grown since the row was read. Returns a promise only in three cases: the head of the trail is not the one that this process verified
 * last, the row differs and the database may have Citus, or the memory folder must be checked (once a second).
 * @throws LogRewrittenError if the head or the events of the trail are not valid.
 */
export function verifyKey(pool: Pool, record: KeyRecord): KnownKey | undefined | Promise<KnownKey | undefined> {
  const key = verifiedRows.get(record) ?? compareKey(pool, record);
  if (key instanceof Promise) return key.then((read) => read ?? recheckOnCitus(pool, record));
  return key ?? recheckOnCitus(pool, record);
}

const cachedState = (pool: Pool, { tenantId, trailSeal }: KeyRecord): KeyState | undefined =>
  keyStates.cached(requireSeals(pool), tenantId, trailSeal);

function compareKey(pool: Pool, record: KeyRecord): KnownKey | undefined | Promise<KnownKey | undefined> {
  const checking = checkStore({ seals: requireSeals(pool), tenantId: record.tenantId }, 'keys');
  return checking === undefined ? compareWithState(pool, record) : checking.then(() => compareWithState(pool, record));
}

function compareWithState(pool: Pool, record: KeyRecord): KnownKey | undefined | Promise<KnownKey | undefined> {
  const state = cachedState(pool, record);
  if (state !== undefined) return matchingKey(pool, record, state);
  return inTenantTransaction(pool, record.tenantId, (tx) => keyStates.read(tx, (read) => matchingKey(pool, record, read)));
}

function matchingKey(pool: Pool, record: KeyRecord, state: KeyState): KnownKey | undefined {
  const known = state.key(record.prefix);
  if (known !== undefined && known.id === record.keyId && known.credentialSha256 === credentialOf(record.secretSha256)) {
    verifiedRows.set(record, known);
    return known;
  }
  // Only a row as old as the state is reported. A row read before a rotation differs from the later state without having been altered.
  if (isOnCitus(pool) === false && cachedState(pool, record) === state) reportKey(pool, record);
  return undefined;
}

const reportKey = (pool: Pool, { tenantId, prefix }: KeyRecord): void =>
  requireSeals(pool).broken.report({ table: 'ingestion_keys', tenantId, key: { prefix } });

/**
 * On Citus a row and its trail can be on two machines, which commit one after the other. A row that differs is read again, and is reported
 * if it still differs and the trail is the same.
 */
function recheckOnCitus(pool: Pool, record: KeyRecord): undefined | Promise<KnownKey | undefined> {
  if (isOnCitus(pool) === false) return undefined;
  return (async () => {
    await sleep(COMMIT_GAP_MS_MAX);
    const [later] = await findKeys(pool, [record.prefix]);
    const key = later && (await compareKey(pool, later));
    if (key === undefined && later !== undefined && hasSameTrail(later, record)) reportKey(pool, later);
    return key;
  })();
}

const hasSameTrail = (left: KeyRecord, right: KeyRecord): boolean =>
  left.trailSeal !== null && right.trailSeal !== null && Buffer.compare(left.trailSeal, right.trailSeal) === 0;
