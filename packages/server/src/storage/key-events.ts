import { withRowCountCheck } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';

/** What can happen to a key. */
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
  withRowCountCheck(
    `INSERT INTO countersign.key_events (tenant_id, seq, id, recorded_at, recorded_by, action, key_id, event_hash, document)
   VALUES ($1, $2, $3, $4::timestamptz, $5, $6, $7, decode($8, 'hex'), $9)`,
    '1',
  ),
);

/** Appends an event to the key audit trail. The caller has locked the head of the trail. */
export const insertKeyEvent = (tx: Transaction, row: KeyEventRow): void =>
  tx.send(INSERT, [
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

/** A stored event with the columns that repeat members of its document. */
export interface StoredKeyEvent {
  seq: number;
  id: string;
  /** UTC with six fraction digits. The last three are zero unless the column was changed. */
  recorded_at: string;
  recorded_by: string;
  action: string;
  key_id: string;
  event_hash: string;
  document: string;
}

const READ_PAGE = sql<StoredKeyEvent>(
  'read_key_events_page',
  `SELECT seq, id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS recorded_at, recorded_by, action, key_id,
          encode(event_hash, 'hex') AS event_hash, document
     FROM countersign.key_events WHERE tenant_id = $1 AND seq > $2 AND seq <= least($3::bigint, $2::bigint + 1000) ORDER BY seq`,
);

/** The events with the next 1,000 numbers after `after`, up to and including `last`, in order. */
export const readKeyEvents = (tx: Transaction, after: number, last: number): Promise<StoredKeyEvent[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);
