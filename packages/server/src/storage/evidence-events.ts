import { digestArray, int8Array, textArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { pageOf } from './log-pages.ts';

/** One event of the evidence log, with its canonical text. */
export interface EvidenceEventRow {
  seq: number;
  /** SHA-256 of the event, hex: the leaf data of the log's tree. */
  eventHash: string;
  document: string;
}

const INSERT = sql(
  'insert_evidence_events',
  `INSERT INTO countersign.evidence_events (tenant_id, seq, event_hash, document)
   SELECT $1, seq, event_hash, document FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS made (seq, event_hash, document)`,
);

/** Appends events to the evidence log. The caller has locked the head of the log. */
export function insertEvidenceEvents(tx: Transaction, rows: readonly EvidenceEventRow[]): void {
  if (rows.length === 0) return;
  tx.send(INSERT, [
    tx.tenantId,
    int8Array(rows.map(({ seq }) => seq)),
    digestArray(rows.map(({ eventHash }) => eventHash)),
    textArray(rows.map(({ document }) => document)),
  ]);
}

/** A stored event. */
export interface StoredEvidenceEvent {
  seq: number;
  /** SHA-256, hex. */
  event_hash: string;
  document: string;
}

const READ_PAGE = sql<StoredEvidenceEvent>(
  'read_evidence_events_page',
  `SELECT seq, encode(event_hash, 'hex') AS event_hash, document ${pageOf('evidence_events')}`,
);

/** The next events after the number `after`, up to and including `last`, in order, as many as fit on a page (log-pages.ts). */
export const readEvidenceEvents = (tx: Transaction, after: number, last: number): Promise<StoredEvidenceEvent[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);
