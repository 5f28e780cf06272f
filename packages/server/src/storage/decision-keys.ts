import { BrokenSealError } from '../database/broken-seals.ts';
import {
  type RawRow,
  type SealedTable,
  sealedColumns,
  sealedInstant,
  sealedInstantAfter,
  shownInstant,
} from '../database/sealed-table.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** A decision key as shown to its workspace. The key itself is derived and never stored. */
export interface ListedDecisionKey {
  keyId: string;
  createdAt: string;
  retiredAt: string | null;
}

/** The columns that the seal covers. */
export const DECISION_KEYS: SealedTable<ListedDecisionKey> = {
  name: 'decision_keys',
  version: 1,
  columns: [
    { field: 'keyId', column: 'key_id', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
    { field: 'retiredAt', column: 'retired_at', kind: 'instant' },
  ],
  identifyingFields: ['keyId'],
};

const LIST = sql<RawRow>(
  'list_decision_keys',
  `SELECT ${sealedColumns(DECISION_KEYS, 'k')} FROM countersign.decision_keys AS k WHERE k.tenant_id = $1`,
);

/** The keys with valid seals, oldest first, with times to the microsecond. */
async function readDecisionKeys(tx: Transaction): Promise<ListedDecisionKey[]> {
  const rows = await tx.run(LIST, [tx.tenantId]);
  const keys = rows.flatMap((raw) => tx.seals.openRow(DECISION_KEYS, tx.tenantId, raw) ?? []);
  return keys.sort((one, other) => (one.createdAt + one.keyId < other.createdAt + other.keyId ? -1 : 1));
}

/**
 * The fault of a workspace without a live key. The server always keeps one live key, so a row was changed or deleted outside the server.
 */
export const NO_LIVE_KEY = 'the workspace has no live decision key with a valid seal';

/**
 * The ID of the decision key that signs: the oldest live key. A second live key does not sign until the older one is retired, so that gates
 * can get the second key before it signs.
 * @throws BrokenSealError if no live key has a valid seal. This is also reported (BrokenSeals).
 */
export async function findSigningKeyId(tx: Transaction): Promise<string> {
  const signing = (await readDecisionKeys(tx)).find(({ retiredAt }) => retiredAt === null);
  if (signing !== undefined) return signing.keyId;
  tx.seals.broken.report({ table: DECISION_KEYS.name, tenantId: tx.tenantId, key: {}, reason: NO_LIVE_KEY });
  throw new BrokenSealError(DECISION_KEYS.name);
}

const INSERT = sql(
  'insert_decision_key',
  `INSERT INTO countersign.decision_keys (tenant_id, key_id, created_at, seal) VALUES ($1, $2, $3, $4)`,
);

/**
 * Adds a live decision key. The oldest live key signs, so the new key gets a later time than every other key, even if a clock was ahead
 * when another key was added.
 */
export async function insertDecisionKey(tx: Transaction, keyId: string): Promise<void> {
  const keys = await readDecisionKeys(tx);
  const createdAt = sealedInstantAfter(keys.at(-1)?.createdAt ?? null, tx.clock.now());
  const seal = tx.seals.ofRow(DECISION_KEYS, tx.tenantId, { keyId, createdAt, retiredAt: null });
  await tx.run(INSERT, [tx.tenantId, keyId, createdAt, seal]);
}

/** The tenant's decision keys with valid seals, oldest first, including retired ones. The first live key signs. */
export async function listDecisionKeys(tx: Transaction): Promise<ListedDecisionKey[]> {
  const keys = await readDecisionKeys(tx);
  return keys.map(({ keyId, createdAt, retiredAt }) => ({
    keyId,
    createdAt: shownInstant(createdAt),
    retiredAt: retiredAt === null ? null : shownInstant(retiredAt),
  }));
}

const LIST_ENTRIES = sql<{ document: string }>(
  'list_decision_key_entries',
  `SELECT document FROM countersign.audit_entries
    WHERE tenant_id = $1 AND action IN ('decision_key.rotated', 'decision_key.retired') AND recorded_by NOT LIKE 'key:%' ORDER BY seq`,
);

/**
 * The canonical texts of the audit entries that record a rotation or retirement of a decision key, in order. Entries that ingestion keys
 * recorded are left out, because senders choose the action of their entries.
 */
export const listDecisionKeyEntries = async (tx: Transaction): Promise<string[]> =>
  (await tx.run(LIST_ENTRIES, [tx.tenantId])).map(({ document }) => document);

const RETIRE = sql(
  'retire_decision_key',
  `UPDATE countersign.decision_keys SET retired_at = $3, seal = $4 WHERE tenant_id = $1 AND key_id = $2`,
);

/**
 * Retires a live decision key. Does nothing if no live key with a valid seal has this ID. The caller has locked the head of the audit
 * ledger, so no other transaction changes the key.
 */
export async function markDecisionKeyRetired(tx: Transaction, keyId: string): Promise<void> {
  const key = (await readDecisionKeys(tx)).find((each) => each.keyId === keyId && each.retiredAt === null);
  if (key === undefined) return;
  const retiredAt = sealedInstant(tx.clock.now());
  await tx.run(RETIRE, [tx.tenantId, keyId, retiredAt, tx.seals.ofRow(DECISION_KEYS, tx.tenantId, { ...key, retiredAt })]);
}
