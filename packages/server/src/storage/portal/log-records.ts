import { textArray } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';

/** A log record of a step, other than a finding. */
export interface RecordOfSpan {
  kind: 'content' | 'exception';
  document: string;
}

/** The maximum number of records that are read for one step. Conversations usually have fewer. */
const RECORDS_MAX = 1000;

/** The order of the records of a step. Of several exceptions, the first is the error of the step. */
const IN_ORDER = 'happened_at, place, sha256';

const OF_SPAN = sql<RecordOfSpan>(
  'portal_list_log_records_of_span',
  `SELECT kind, document FROM countersign.log_records
    WHERE tenant_id = $1 AND trace_id = (SELECT t.trace_id FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.id = $2) AND span_id = $3
      AND kind <> 'finding' AND octet_length(document) <= $4
    ORDER BY ${IN_ORDER} LIMIT ${RECORDS_MAX}`,
);

/** The maximum size of a displayed record, in bytes. */
const DOCUMENT_BYTES_MAX = 1024 * 1024;

/** The first RECORDS_MAX log records of a step of a trace, by time, without findings and records longer than DOCUMENT_BYTES_MAX. */
export const listRecordsOfSpan = (tx: Transaction, trace: string, spanId: string): Promise<RecordOfSpan[]> =>
  tx.run(OF_SPAN, [tx.tenantId, trace, spanId, DOCUMENT_BYTES_MAX]);

/**
 * The number of characters of an exception record that are read for a list. They include the first 2,000 characters of the error, even if
 * each of them is written as an escape of six characters.
 */
const EXCEPTION_LENGTH = 12_100;

/**
 * A step with log records. `exception` is the document of its first exception record, up to EXCEPTION_LENGTH characters; null if it has
 * none.
 */
export interface SpanWithRecords {
  span_id: string;
  has_content: boolean;
  exception: string | null;
}

const OF_SPANS = sql<SpanWithRecords>(
  'portal_list_spans_with_log_records',
  // The document is not decoded here, because the error can contain U+0000, which PostgreSQL's text cannot contain.
  `SELECT l.span_id, bool_or(l.kind = 'content') AS has_content,
          CASE WHEN bool_or(l.kind = 'exception') THEN (
            SELECT left(e.document, ${EXCEPTION_LENGTH}) FROM countersign.log_records AS e
             WHERE e.tenant_id = $1 AND e.trace_id = l.trace_id AND e.span_id = l.span_id AND e.kind = 'exception'
             ORDER BY ${IN_ORDER} LIMIT 1) END AS exception
     FROM unnest($3::text[]) AS input (span_id)
     JOIN countersign.log_records AS l ON l.tenant_id = $1 AND l.span_id = input.span_id
      AND l.trace_id = (SELECT t.trace_id FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.id = $2)
    WHERE l.kind <> 'finding' GROUP BY l.trace_id, l.span_id`,
);

/** Those of the given steps that have log records other than findings. */
export const listSpansWithRecords = (tx: Transaction, trace: string, spanIds: readonly string[]): Promise<SpanWithRecords[]> =>
  tx.run(OF_SPANS, [tx.tenantId, trace, textArray(spanIds)]);

/** A stored finding of a run. */
export interface StoredFinding {
  span_id: string;
  at: string | null;
  recorded_by: string;
  document: string;
}

const FINDINGS = sql<StoredFinding>(
  'portal_list_findings',
  `SELECT span_id, ${instantText('happened_at')} AS at, recorded_by, document FROM countersign.log_records
    WHERE tenant_id = $1 AND trace_id = $2 AND kind = 'finding' ORDER BY happened_at, place LIMIT $3`,
);

/** The first findings of a run, by time, at most `limit`. */
export const listFindings = (tx: Transaction, traceId: string, limit: number): Promise<StoredFinding[]> =>
  tx.run(FINDINGS, [tx.tenantId, traceId, limit]);
