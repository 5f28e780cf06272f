import { withRowCountCheck } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { pageOf } from './log-pages.ts';

/** One event of the trace log, with its canonical text. */
export interface TraceEventRow {
  seq: number;
  /** SHA-256 of the event, hex: the leaf data of the log's tree. */
  eventHash: string;
  document: string;
}

const INSERT = sql(
  'insert_trace_event',
  withRowCountCheck(
    `INSERT INTO countersign.trace_events (tenant_id, seq, event_hash, document) VALUES ($1, $2, decode($3, 'hex'), $4)`,
    '1',
  ),
);

/** Appends an event to the trace log. The caller has locked the head of the log, or moved a guessed head. */
export const insertTraceEvent = (tx: Transaction, { seq, eventHash, document }: TraceEventRow): void =>
  tx.send(INSERT, [tx.tenantId, seq, eventHash, document]);

/** A stored event. */
export interface StoredTraceEvent {
  seq: number;
  /** SHA-256, hex. */
  event_hash: string;
  document: string;
}

const READ_PAGE = sql<StoredTraceEvent>(
  'read_trace_events_page',
  `SELECT seq, encode(event_hash, 'hex') AS event_hash, document ${pageOf('trace_events')}`,
);

/** The next page of events after the number `after`, up to and including `last`, in order. It may be empty before a gap (log-pages.ts). */
export const readTraceEvents = (tx: Transaction, after: number, last: number): Promise<StoredTraceEvent[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);
