import type { RunSummary } from '@countersign/core/portal/run-facts';
import type { EventDetail, Submission, TraceDetail } from '@countersign/core/portal/run-routes';
import { int4Array } from '../../database/binary-array.ts';
import { sql, type Transaction } from '../../database/transaction.ts';
import { instantText } from '../instant-text.ts';
import { lookUp } from './fragments.ts';
import { RUN_COLUMNS } from './runs.ts';

/** What of a trace stands in its columns; the rest is in its submissions. */
export type StoredTrace = Omit<TraceDetail, 'detail' | 'error' | 'metadata' | 'submissions' | 'telemetry'>;

const FIND = sql<StoredTrace>(
  'portal_find_trace',
  `SELECT r.id, ${RUN_COLUMNS}, r.span_count, r.submission_count
     FROM countersign.traces AS r ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.id = $2`,
);

/** The columns of a trace; undefined when there is none. */
export const findTrace = async (tx: Transaction, id: string): Promise<StoredTrace | undefined> =>
  (await tx.run(FIND, [tx.tenantId, id]))[0];

const LIST_SUBMISSIONS = sql<Submission>(
  'portal_list_trace_submissions',
  `SELECT number, ${instantText('received_at')} AS received_at, recorded_by, octet_length(document) AS bytes
     FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2 ORDER BY number DESC LIMIT $3`,
);

/** The latest submissions of a trace, newest first. */
export const listSubmissions = (tx: Transaction, trace: string, limit: number): Promise<Submission[]> =>
  tx.run(LIST_SUBMISSIONS, [tx.tenantId, trace, limit]);

const FIND_SUBMISSION_BYTES = sql<{ bytes: number }>(
  'portal_find_trace_submission_bytes',
  `SELECT octet_length(document) AS bytes FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2 AND number = $3`,
);

/** The size of a submission of a trace; undefined when there is none. */
export const findSubmissionBytes = async (tx: Transaction, trace: string, number: number): Promise<number | undefined> =>
  (await tx.run(FIND_SUBMISSION_BYTES, [tx.tenantId, trace, number]))[0]?.bytes;

/** One submission's number and its text as it came. */
export interface SubmissionDocument {
  number: number;
  document: string;
}

const READ_DOCUMENTS = sql<SubmissionDocument>(
  'portal_read_trace_documents',
  `SELECT number, document FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2 AND number = ANY ($3::integer[]) ORDER BY number`,
);

/** The texts of these submissions of a trace. The caller bounds their bytes. */
export const readDocuments = (tx: Transaction, trace: string, numbers: readonly number[]): Promise<SubmissionDocument[]> =>
  tx.run(READ_DOCUMENTS, [tx.tenantId, trace, int4Array(numbers)]);

const EVENTS_OF_RUN = sql<RunSummary>(
  'portal_list_events_of_run',
  `SELECT 'telemetry' AS source, r.submission AS id, r.ordinal, ${RUN_COLUMNS}, NULL::bigint AS span_count, r.tool_count, r.model
     FROM countersign.telemetry_events AS r ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.trace_id = $2 ORDER BY r.submission DESC, r.ordinal DESC LIMIT $3`,
);

/** The latest telemetry events of a trace_id, newest first. */
export const listEventsOfRun = (tx: Transaction, traceId: string, limit: number): Promise<RunSummary[]> =>
  tx.run(EVENTS_OF_RUN, [tx.tenantId, traceId, limit]);

/** What of a telemetry event stands in its columns, and the size of the submission that it is in. */
export type StoredEvent = Omit<EventDetail, 'payload' | 'detail'> & { document_bytes: number };

const FIND_EVENT = sql<StoredEvent>(
  'portal_find_event',
  `SELECT r.submission AS id, r.ordinal, ${RUN_COLUMNS}, r.status, r.model, r.provider, r.tool_count, s.recorded_by, octet_length(s.document) AS document_bytes,
          (SELECT t.id FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = r.trace_id) AS trace
     FROM countersign.telemetry_events AS r
     JOIN countersign.telemetry_submissions AS s ON s.tenant_id = $1 AND s.id = r.submission
     ${lookUp('agents', 'a', 'id', 'r.agent_id')}
    WHERE r.tenant_id = $1 AND r.submission = $2 AND r.ordinal = $3`,
);

/** One telemetry event with the size of its submission; undefined when there is none. */
export const findEvent = async (tx: Transaction, submission: string, ordinal: number): Promise<StoredEvent | undefined> =>
  (await tx.run(FIND_EVENT, [tx.tenantId, submission, ordinal]))[0];

const FIND_EVENT_SUBMISSION_BYTES = sql<{ bytes: number }>(
  'portal_find_event_submission_bytes',
  `SELECT octet_length(document) AS bytes FROM countersign.telemetry_submissions WHERE tenant_id = $1 AND id = $2`,
);

/** The size of a telemetry submission; undefined when there is none. */
export const findEventSubmissionBytes = async (tx: Transaction, id: string): Promise<number | undefined> =>
  (await tx.run(FIND_EVENT_SUBMISSION_BYTES, [tx.tenantId, id]))[0]?.bytes;

const FIND_EVENT_SUBMISSION = sql<{ document: string }>(
  'portal_find_event_submission',
  `SELECT document FROM countersign.telemetry_submissions WHERE tenant_id = $1 AND id = $2`,
);

/** The text of a telemetry submission as it came; undefined when there is none. */
export const findEventSubmission = async (tx: Transaction, id: string): Promise<string | undefined> =>
  (await tx.run(FIND_EVENT_SUBMISSION, [tx.tenantId, id]))[0]?.document;
