import { sql, type Transaction } from '../database/transaction.ts';
import { pageOf } from './log-pages.ts';

const PAGE = pageOf('audit_entries');

/** A stored row with the columns that repeat members of its document. */
export interface StoredEntry {
  seq: number;
  id: string;
  /** UTC with six fraction digits. The last three are zero unless the column was changed. */
  recorded_at: string;
  recorded_by: string;
  actor: string;
  action: string;
  trace_id: string | null;
  agent_id: string | null;
  prev_hash: string | null;
  row_hash: string;
  document: string;
}

const READ_PAGE = sql<StoredEntry>(
  'read_audit_page',
  `SELECT seq, id, to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS recorded_at, recorded_by, actor, action, trace_id,
          agent_id, encode(prev_hash, 'hex') AS prev_hash, encode(row_hash, 'hex') AS row_hash, document ${PAGE}`,
);

/** The next page of rows after the number `after`, up to and including `last`, in order. It may be empty before a gap (log-pages.ts). */
export const readAuditPage = (tx: Transaction, after: number, last: number): Promise<StoredEntry[]> =>
  tx.run(READ_PAGE, [tx.tenantId, after, last]);

/** A stored row as one text, for verification. Reading the columns one by one takes twice as long. */
export class EntryInOneText {
  readonly text: string;
  /** The position of the document in the text: after row_hash, which has 64 hex digits. */
  static readonly DOCUMENT_AT = 64;

  /** @param text row_hash, document, and the result of columnsText. */
  constructor(text: string) {
    this.text = text;
  }

  get rowHash(): string {
    return this.text.slice(0, EntryInOneText.DOCUMENT_AT);
  }

  get seq(): number {
    return Number(this.text.slice(this.text.lastIndexOf(SEPARATOR) + 1));
  }
}

/** The columns that `columnsText` contains. */
export type EntryColumns = Omit<StoredEntry, 'row_hash' | 'document'>;

/**
 * The separator before each column, and the character for null. Valid columns contain neither, because labels of the contract have no
 * control characters.
 */
const [SEPARATOR, NULL] = ['\u001f', '\u001e'];
const SEPARATOR_OR_NULL = /[\u001e\u001f]/;

const orNull = (column: string): string => `coalesce(${column}, E'\\x1e')`;
const COLUMNS = [
  orNull(`encode(prev_hash, 'hex')`),
  'id',
  'extract(epoch FROM recorded_at)', // seconds with six decimals; five times as fast as to_char
  'recorded_by',
  'actor',
  'action',
  `coalesce('=' || trace_id, '')`, // The only free text that can be null. With the prefix, no text looks like null.
  orNull('agent_id::text'),
  'seq',
];

const READ_TEXTS = sql<{ row: string }>(
  'read_audit_page_of_texts',
  `SELECT encode(row_hash, 'hex') || document || E'\\x1f' || ${COLUMNS.join(` || E'\\x1f' || `)} AS row ${PAGE}`,
);

/** Like `readAuditPage`, with each row in one text. */
export const readAuditTexts = async (tx: Transaction, after: number, last: number): Promise<EntryInOneText[]> =>
  (await tx.run(READ_TEXTS, [tx.tenantId, after, last])).map(({ row }) => new EntryInOneText(row));

/**
 * The text after the document in an EntryInOneText with these columns; undefined if a column contains the separator or the character for
 * null. `recorded_at` must have at least milliseconds; further digits are ignored.
 */
export function columnsText(columns: EntryColumns): string | undefined {
  const { prev_hash, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, seq } = columns;
  if (SEPARATOR_OR_NULL.test(recorded_by + actor + action + trace_id)) return undefined;
  const seconds = `${Math.floor(Date.parse(recorded_at) / 1000)}.${recorded_at.slice(20, 23)}000`;
  return (
    SEPARATOR +
    (prev_hash ?? NULL) +
    SEPARATOR +
    id +
    SEPARATOR +
    seconds +
    SEPARATOR +
    recorded_by +
    SEPARATOR +
    actor +
    SEPARATOR +
    action +
    SEPARATOR +
    (trace_id === null ? '' : `=${trace_id}`) +
    SEPARATOR +
    (agent_id ?? NULL) +
    SEPARATOR +
    seq
  );
}
