import { digestArray, int8Array, textArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
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
  withRowCountCheckOfArray(
    `INSERT INTO countersign.evidence_events (tenant_id, seq, event_hash, document)
   SELECT $1, seq, event_hash, document FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS made (seq, event_hash, document)`,
    '$2::bigint[]',
  ),
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

/** The next page of events after the number `after`, up to and including `last`, in order. It may be empty before a gap (log-pages.ts). */
export const readEvidenceEvents = (tx: Transaction, after: number, last: number): Promise<StoredEvidenceEvent[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);

// The events are searched from the newest one, because people decide on recent evaluations. In canonical JSON, no string contains an
// unescaped quotation mark, so only the members of the event match.
const FIND_EVALUATION = sql<StoredEvidenceEvent>(
  'find_evaluation_event',
  `SELECT seq, encode(event_hash, 'hex') AS event_hash, document FROM countersign.evidence_events
    WHERE tenant_id = $1 AND seq <= $2 AND strpos(document, '"evaluation_id":"' || $3::text || '"') > 0
      AND strpos(document, '"action":"evaluation.recorded"') > 0
    ORDER BY seq DESC LIMIT 1`,
);

/** The event that recorded an evaluation, among the first `size` events of the log; undefined if there is none. */
export const findEvaluationEvent = async (
  tx: Transaction,
  size: number,
  evaluationId: string,
): Promise<StoredEvidenceEvent | undefined> => (await tx.run(FIND_EVALUATION, [tx.tenantId, size, evaluationId]))[0];
