import type { RunSummary } from '@countersign/core/portal/run-facts';
import type { EventDetail, Submission, TraceDetail } from '@countersign/core/portal/run-routes';
import { int4Array } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { documentBytes, documentColumns, readDocumentsOf, requireReadable, type StoredDocument } from '../document-segments.ts';
import { instantText } from '../instant-text.ts';
import { lookUp } from './fragments.ts';
import { EVENT_COLUMNS, TRACE_COLUMNS } from './runs.ts';

/** The columns of a trace. Its members `detail`, `error` and `metadata` are in the documents of its submissions. */
export type StoredTrace = Omit<
  TraceDetail,
  'detail' | 'error' | 'metadata' | 'submissions' | 'findings' | 'telemetry' | 'differing_rows'
>;

const FIND = sql<StoredTrace>(
  'portal_find_trace',
  `SELECT r.id, ${TRACE_COLUMNS}, r.span_count, r.submission_count
     FROM countersign.traces AS r ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.id = $2`,
);

/** The columns of a trace; undefined if there is none. */
export const findTrace = async (tx: Transaction, id: string): Promise<StoredTrace | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];

/** A submission, and the size of its document in bytes. If it came from an export, the server has mapped the document from the export. */
export type StoredSubmission = Submission & { document_bytes: number };

const LIST_SUBMISSIONS = sql<StoredSubmission>(
  'portal_list_trace_submissions',
  `SELECT s.number, ${instantText('s.received_at')} AS received_at, s.recorded_by, ${documentBytes('s')} AS document_bytes,
          coalesce(${documentBytes('e', 'body')}, ${documentBytes('s')}) AS bytes,
          coalesce(e.media_type, 'application/json') AS media_type, coalesce(e.redacted, false) AS redacted,
          s.export IS NOT NULL AND e.id IS NULL AS deleted
     FROM countersign.trace_submissions AS s ${lookUp('otlp_exports', 'e', 'id', 's.export')}
    WHERE s.tenant_id = $1 AND s.trace = $2 ORDER BY s.number DESC LIMIT $3`,
);

/** The latest submissions of a trace, newest first, at most `limit`. */
export const listSubmissions = (tx: Transaction, trace: string, limit: number): Promise<StoredSubmission[]> =>
  tx.run(LIST_SUBMISSIONS, [tx.tenantId, trace, limit]);

/** The file of a submission: the export from which it was mapped, or the sent document if it was not mapped from an export. */
export interface SubmissionFile {
  bytes: number;
  media_type: string;
  /** The ID of the export; null for a document. */
  export: string | null;
}

const FIND_SUBMISSION_FILE = sql<SubmissionFile>(
  'portal_find_trace_submission_file',
  `SELECT coalesce(${documentBytes('e', 'body')}, ${documentBytes('s')}) AS bytes, coalesce(e.media_type, 'application/json') AS media_type, s.export
     FROM countersign.trace_submissions AS s ${lookUp('otlp_exports', 'e', 'id', 's.export')}
    WHERE s.tenant_id = $1 AND s.trace = $2 AND s.number = $3`,
);

/** The SubmissionFile of a submission of a trace; undefined if there is no such submission. */
export const findSubmissionFile = async (tx: Transaction, trace: string, number: number): Promise<SubmissionFile | undefined> =>
  (await tx.run(FIND_SUBMISSION_FILE, [tx.tenantId, trace, number]))[0];

const FIND_EXPORT_BODY = sql<StoredDocument>(
  'portal_find_export_body',
  `SELECT ${documentColumns('e', 'body')} FROM countersign.otlp_exports AS e WHERE tenant_id = $1 AND id = $2`,
);

/** The stored body of an export; undefined if there is no such export. @throws ApiError `log_rewritten` if it cannot be read. */
export async function findExportBody(tx: Transaction, id: string): Promise<Buffer | undefined> {
  const rows = await tx.run(FIND_EXPORT_BODY, [tx.tenantId, id]);
  const [body] = await readDocumentsOf(tx, rows);
  return rows.length === 0 ? undefined : requireReadable(body);
}

/** The number of a submission, and its document. */
export interface SubmissionDocument {
  number: number;
  /** Undefined if it cannot be read from its segment. */
  document: string | undefined;
}

const READ_DOCUMENTS = sql<StoredDocument & { number: number }>(
  'portal_read_trace_documents',
  `SELECT number, ${documentColumns('s')} FROM countersign.trace_submissions AS s
    WHERE tenant_id = $1 AND trace = $2 AND number = ANY ($3::integer[]) ORDER BY number`,
);

/** The documents of these submissions of a trace, sorted by number. The caller limits their total bytes. */
export async function readDocuments(tx: Transaction, trace: string, numbers: readonly number[]): Promise<SubmissionDocument[]> {
  const rows = await tx.run(READ_DOCUMENTS, [tx.tenantId, trace, int4Array(numbers)]);
  const documents = await readDocumentsOf(tx, rows);
  return rows.map(({ number }, index) => ({ number, document: documents[index]?.toString() }));
}

const EVENTS_OF_RUN = sql<RunSummary>(
  'portal_list_events_of_run',
  `SELECT 'telemetry' AS source, r.submission AS id, r.ordinal, ${EVENT_COLUMNS}, NULL::bigint AS span_count, r.tool_count, r.model
     FROM countersign.telemetry_events AS r ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.trace_id = $2 ORDER BY r.submission DESC, r.ordinal DESC LIMIT $3`,
);

/** The latest telemetry events with a trace_id, newest first, at most `limit`. */
export const listEventsOfRun = (tx: Transaction, traceId: string, limit: number): Promise<RunSummary[]> =>
  tx.run(EVENTS_OF_RUN, [tx.tenantId, traceId, limit]);

/** The columns of a telemetry event, and the size of its request in bytes. */
export type StoredEvent = Omit<EventDetail, 'payload' | 'detail'> & { document_bytes: number };

const FIND_EVENT = sql<StoredEvent>(
  'portal_find_event',
  `SELECT r.submission AS id, r.ordinal, ${EVENT_COLUMNS}, r.status, r.model, r.provider, r.tool_count, s.recorded_by, ${documentBytes('s')} AS document_bytes,
          (SELECT t.id FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = r.trace_id) AS trace
     FROM countersign.telemetry_events AS r
     JOIN countersign.telemetry_submissions AS s ON s.tenant_id = $1 AND s.id = r.submission
     ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.submission = $2 AND r.ordinal = $3`,
);

/** A telemetry event with the size of its request; undefined if there is no such event. */
export const findEvent = async (tx: Transaction, submission: string, ordinal: number): Promise<StoredEvent | undefined> =>
  (await tx.run(FIND_EVENT, [tx.tenantId, submission, ordinal]))[0];

const FIND_EVENT_SUBMISSION_BYTES = sql<{ bytes: number }>(
  'portal_find_event_submission_bytes',
  `SELECT ${documentBytes('s')} AS bytes FROM countersign.telemetry_submissions AS s WHERE tenant_id = $1 AND id = $2`,
);

/** The size of a telemetry request in bytes; undefined if there is no such request. */
export const findEventSubmissionBytes = async (tx: Transaction, id: string): Promise<number | undefined> =>
  (await tx.run(FIND_EVENT_SUBMISSION_BYTES, [tx.tenantId, id]))[0]?.bytes;

const FIND_EVENT_SUBMISSION = sql<StoredDocument>(
  'portal_find_event_submission',
  `SELECT ${documentColumns('s')} FROM countersign.telemetry_submissions AS s WHERE tenant_id = $1 AND id = $2`,
);

/** The stored text of a telemetry request; undefined if there is none. @throws ApiError `log_rewritten` if it cannot be read. */
export async function findEventSubmission(tx: Transaction, id: string): Promise<string | undefined> {
  const rows = await tx.run(FIND_EVENT_SUBMISSION, [tx.tenantId, id]);
  const [document] = await readDocumentsOf(tx, rows);
  return rows.length === 0 ? undefined : requireReadable(document).toString();
}
