import type { RowTimes } from '@countersign/core/domain/clock-correction';
import { applyEvent } from '@countersign/core/domain/event-conflict';
import { readKeyEvent } from '@countersign/core/domain/key-event';
import { KeyState, type KnownKey } from '@countersign/core/domain/key-state';
import type { Pool } from 'pg';
import { inTenantTransaction } from '../database/transaction.ts';
import { type KeyFacts, readKeyFacts } from '../storage/ingestion-keys.ts';
import { readKeyEvents, type StoredKeyEvent } from '../storage/key-events.ts';
import { credentialOf, keyStates } from './key-states.ts';
import { type LogReport, type RowFinding, tableSource } from './row-findings.ts';
import { lockSealedHeads } from './sealed-heads.ts';
import { columnFault } from './stored-document.ts';
import { readStoredEvent } from './stored-event.ts';
import { type WalkOptions, walkLog } from './walk-log.ts';

/** The table whose rows must match the trail. */
const KEYS_TABLE = 'ingestion_keys';

/**
 * Verifies a tenant's stored key audit trail: the hash of each event, the order of events, columns, gaps, head, tree and checkpoints. If
 * the trail is valid, compares the rows of the keys with it.
 */
export async function verifyKeyEvents(pool: Pool, tenantId: string, options: WalkOptions = {}): Promise<LogReport> {
  const state = new KeyState();
  const check = (row: StoredKeyEvent, seq: number, times: RowTimes) => {
    const fault = rowFault(row, seq, tenantId, state) ?? times.next(seq, row.recorded_at.replace(/000Z$/, 'Z'), 'recorded_at');
    return fault === undefined ? { hash: row.event_hash } : { fault };
  };
  const report = await walkLog(pool, tenantId, { log: 'keys', isChained: false, read: readKeyEvents, check }, options);
  if (report.firstBad !== undefined || report.contradiction !== undefined) return report;
  const finding = await findChangedKeyRow(pool, tenantId);
  if (finding === undefined) return report;
  const reason = `the row ${finding.id} differs from the trail: ${finding.fault}`;
  return { ...report, findings: [finding], contradiction: { source: tableSource(KEYS_TABLE), size: report.entries, reason } };
}

/** Finds a key whose row differs from the trail or is missing, if any. Locks the trail's head, so that nothing changes meanwhile. */
const findChangedKeyRow = (pool: Pool, tenantId: string): Promise<RowFinding | undefined> =>
  inTenantTransaction(pool, tenantId, async (tx) => {
    const { keys: head } = await lockSealedHeads(tx, ['keys']);
    const state = await keyStates.atHead(tx, head);
    const rows = await readKeyFacts(tx);
    for (const row of rows) {
      const fault = differenceOf(row, state.key(row.prefix));
      if (fault !== undefined) return { table: KEYS_TABLE, id: row.prefix, fault };
    }
    const prefixes = new Set(rows.map(({ prefix }) => prefix));
    const missing = [...state.keys()].find(({ prefix }) => !prefixes.has(prefix));
    return missing === undefined
      ? undefined
      : { table: KEYS_TABLE, id: missing.prefix, fault: 'it was deleted outside the server' };
  });

function differenceOf(row: KeyFacts, known: KnownKey | undefined): string | undefined {
  if (known === undefined) return 'the trail has no such key: the row was inserted outside the server';
  if (row.id !== known.id || row.kind !== known.kind || row.name !== known.name) return 'its ID, kind or name is different';
  if (credentialOf(row.secretSha256) !== known.credentialSha256) return 'the hash of its secret is different';
  if (JSON.stringify(row.scopes) !== JSON.stringify(known.scopes))
    return `its scopes are ${row.scopes.join(', ')}, the trail says ${known.scopes.join(', ')}`;
  if (row.expiresAt !== known.expiresAt) return `it expires at ${row.expiresAt}, the trail says ${known.expiresAt}`;
  return row.isRevoked === known.isRevoked ? undefined : `the trail says that it is ${known.isRevoked ? '' : 'not '}revoked`;
}

function rowFault(row: StoredKeyEvent, seq: number, tenantId: string, state: KeyState): string | undefined {
  const read = readStoredEvent(row, { seq, tenantId }, readKeyEvent);
  if ('fault' in read) return read.fault;
  return columnFault({ ...read.event }, row, COLUMNS) ?? applyEvent(state, read.event);
}

/** The columns that repeat members of the hashed document. Searches and pages use them, so they must match the document. */
const COLUMNS = ['seq', 'id', 'recorded_at', 'recorded_by', 'action', 'key_id'] as const;
