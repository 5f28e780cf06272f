import { sql, type Transaction } from '../database/transaction.ts';

/** What can happen to a key (specification 3.3). */
export type KeyAction = 'minted' | 'rotated' | 'revoked' | 'scopes_changed';

/** One event of the key audit trail, with its canonical text. */
export interface KeyEventRow {
  seq: number;
  id: string;
  recordedAt: string;
  recordedBy: string;
  action: KeyAction;
  keyId: string;
  /** SHA-256 of the event, hex: the leaf data of the trail's tree. */
  eventHash: string;
  document: string;
}

const INSERT = sql(
  'insert_key_event',
  `INSERT INTO countersign.key_events (tenant_id, seq, id, recorded_at, recorded_by, action, key_id, event_hash, document)
   VALUES ($1, $2, $3, $4::timestamptz, $5, $6, $7, decode($8, 'hex'), $9)`,
);

/** Appends to the key audit trail. The caller holds the head of the log `keys` locked. */
export const insertKeyEvent = (tx: Transaction, row: KeyEventRow): Promise<unknown> =>
  tx.run(INSERT, [
    tx.tenantId,
    row.seq,
    row.id,
    row.recordedAt,
    row.recordedBy,
    row.action,
    row.keyId,
    row.eventHash,
    row.document,
  ]);
