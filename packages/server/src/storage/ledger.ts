import type { ChainedRow } from '@countersign/core/domain/audit-chain';
import { digestArray, int8Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { HEAD_COLUMNS, type HeadRow, type LogName, type StoredHead, storedHead } from './log-heads.ts';

const INSERT = sql(
  'insert_audit_entries',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.audit_entries (tenant_id, seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document)
   SELECT $1, seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document
     FROM unnest($2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[], $10::bytea[], $11::bytea[], $12::text[])
       AS linked (seq, id, recorded_at, recorded_by, actor, action, trace_id, agent_id, prev_hash, row_hash, document)`,
    '$2::bigint[]',
  ),
);

/** Stores chained rows of the audit ledger. The constraints of the table reject a fork. */
export function insertAuditEntries(tx: Transaction, rows: readonly ChainedRow[]): void {
  const entries = rows.map(({ entry }) => entry);
  tx.send(INSERT, [
    tx.tenantId,
    int8Array(entries.map(({ seq }) => seq)),
    uuidArray(entries.map(({ id }) => id)),
    timestampArray(entries.map(({ recorded_at }) => BigInt(Date.parse(recorded_at)) * 1000n)),
    textArray(entries.map(({ recorded_by }) => recorded_by)),
    textArray(entries.map(({ actor }) => actor)),
    textArray(entries.map(({ action }) => action)),
    textArray(entries.map(({ trace_id }) => trace_id)),
    uuidArray(entries.map(({ agent_id }) => agent_id)),
    digestArray(entries.map(({ prev_hash }) => prev_hash)),
    digestArray(rows.map(({ rowHash }) => rowHash)),
    textArray(rows.map(({ canonical }) => canonical)),
  ]);
}

const nextSeqOf = (log: LogName, table: string) =>
  sql<{ seq: number | null }>(
    `find_next_seq_of_${log}`,
    `SELECT min(seq) AS seq FROM countersign.${table} WHERE tenant_id = $1 AND seq > $2`,
  );

const NEXT_SEQ = {
  audit: nextSeqOf('audit', 'audit_entries'),
  decisions: nextSeqOf('decisions', 'decisions'),
  evidence: nextSeqOf('evidence', 'evidence_events'),
  keys: nextSeqOf('keys', 'key_events'),
  traces: nextSeqOf('traces', 'trace_events'),
} as const;

/** The lowest seq of a log that is greater than `after`; 0 if there is none. */
export const findNextSeq = async (tx: Transaction, log: LogName, after: number): Promise<number> =>
  (await tx.run(NEXT_SEQ[log], [tx.tenantId, after]))[0]?.seq ?? 0;

/** The length of a log according to its head, and according to its rows. */
export interface LogExtent {
  /** Undefined if the head's row is missing. */
  head: StoredHead | undefined;
  /** The lowest and the highest seq stored; 1 and 0 without rows. */
  firstSeq: number;
  lastSeq: number;
}

type ExtentRow = (HeadRow | { [column in keyof HeadRow]: null }) & { first_seq: number | null; last_seq: number | null };

const readExtentOf = (log: LogName, table: string) =>
  sql<ExtentRow>(
    `read_extent_of_${log}`,
    `SELECT ${HEAD_COLUMNS}, rows.first_seq, rows.last_seq
       FROM (SELECT min(seq) AS first_seq, max(seq) AS last_seq FROM countersign.${table} WHERE tenant_id = $1) AS rows
       LEFT JOIN countersign.log_heads AS head ON head.tenant_id = $1 AND head.log = '${log}'`,
  );

const READ_EXTENT = {
  audit: readExtentOf('audit', 'audit_entries'),
  decisions: readExtentOf('decisions', 'decisions'),
  evidence: readExtentOf('evidence', 'evidence_events'),
  keys: readExtentOf('keys', 'key_events'),
  traces: readExtentOf('traces', 'trace_events'),
} as const;

/** The total size of documents, and the size of the largest one, in bytes; 0 without documents. */
export interface DocumentSizes {
  total: number;
  largest: number;
}

const documentSizesOf = (log: LogName, table: string) =>
  sql<DocumentSizes>(
    `read_document_sizes_${log}`,
    `SELECT coalesce(sum(octet_length(document)), 0) AS total, coalesce(max(octet_length(document)), 0) AS largest FROM countersign.${table}
      WHERE tenant_id = $1 AND seq >= $2::bigint AND seq <= $3::bigint`,
  );

const DOCUMENT_SIZES = {
  audit: documentSizesOf('audit', 'audit_entries'),
  decisions: documentSizesOf('decisions', 'decisions'),
  evidence: documentSizesOf('evidence', 'evidence_events'),
  keys: documentSizesOf('keys', 'key_events'),
  traces: documentSizesOf('traces', 'trace_events'),
} as const;

/** The sizes of the documents of a log's rows `first` to `last`, both included. Does not read the documents. */
export const readDocumentSizes = async (tx: Transaction, log: LogName, first: number, last: number): Promise<DocumentSizes> =>
  (await tx.run(DOCUMENT_SIZES[log], [tx.tenantId, first, last]))[0]!;

/** Reads the extent of a log in one statement, because an append between two statements would look like tampering. */
export async function readLogExtent(tx: Transaction, log: LogName): Promise<LogExtent> {
  const [row] = await tx.run(READ_EXTENT[log], [tx.tenantId]);
  const { first_seq: firstSeq, last_seq: lastSeq } = row!;
  return { head: row!.seq === null ? undefined : storedHead(row!), firstSeq: firstSeq ?? 1, lastSeq: lastSeq ?? 0 };
}
