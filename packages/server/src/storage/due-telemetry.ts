import type { DueRange } from '@countersign/core/domain/retention';
import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { documentColumns, type StoredDocument } from './document-segments.ts';
import { isHeld } from './run-holds.ts';

/** The largest number of telemetry requests that one transaction drops. Each can have up to 200 events. */
export const DROPPED_SUBMISSIONS_MAX = 200;

const FIND = sql<{ id: string; isHeld: boolean }>(
  'find_due_telemetry',
  `SELECT due.id, EXISTS (SELECT FROM countersign.telemetry_events AS event
                           WHERE event.tenant_id = $1 AND event.submission = due.id AND ${isHeld('event.trace_id', '$6')}) AS "isHeld"
     FROM (SELECT id FROM countersign.telemetry_submissions
            WHERE tenant_id = $1 AND id > $2 AND id <= $3 AND received_at >= $4 AND received_at < $5
            ORDER BY id LIMIT ${DROPPED_SUBMISSIONS_MAX}) AS due
    ORDER BY due.id`,
);

/**
 * The next telemetry requests that were received in a range of time, sorted by ID, at most DROPPED_SUBMISSIONS_MAX: those after the ID
 * `after`, up to and including `last`.
 * `isHeld` is whether one of the request's runs must be kept (run-holds.ts).
 * @param today `YYYY-MM-DD`.
 */
export const findDueTelemetry = (
  tx: Transaction,
  [after, last]: readonly [string, string],
  { from, before }: DueRange,
  today: string,
): Promise<{ id: string; isHeld: boolean }[]> => tx.run(FIND, [tx.tenantId, after, last, from, before, today]);

const DELETE = sql<StoredDocument>(
  'delete_telemetry_submissions',
  `DELETE FROM countersign.telemetry_submissions AS s WHERE s.tenant_id = $1 AND s.id = ANY ($2::uuid[])
   RETURNING NULL AS document, s.segment, s.segment_offset AS "offset", s.segment_length AS length`,
);
const DELETE_EVENTS = sql<{ trace_id: string }>(
  'delete_telemetry_events',
  'DELETE FROM countersign.telemetry_events WHERE tenant_id = $1 AND submission = ANY ($2::uuid[]) RETURNING trace_id',
);

/**
 * Deletes telemetry requests with their events. Returns the places of the requests' documents in segments, and the trace_id of each event.
 */
export async function deleteTelemetry(
  tx: Transaction,
  ids: readonly string[],
): Promise<{ documents: StoredDocument[]; traceIds: string[] }> {
  const events = tx.run(DELETE_EVENTS, [tx.tenantId, uuidArray(ids)]);
  const documents = await tx.run(DELETE, [tx.tenantId, uuidArray(ids)]);
  return { documents, traceIds: (await events).map(({ trace_id }) => trace_id) };
}

/** A telemetry request with events of a run. */
export type SubmissionOfRun = StoredDocument & {
  id: string;
  /** The positions of the run's events in the request, from 0, ascending. */
  ordinals: number[];
  /** Whether the request has events of other runs too. */
  hasOthers: boolean;
};

const LOCK_OF_RUN = sql<SubmissionOfRun>(
  'lock_telemetry_of_run',
  `SELECT s.id, ${documentColumns('s')},
          (SELECT array_agg(event.ordinal ORDER BY event.ordinal) FROM countersign.telemetry_events AS event
            WHERE event.tenant_id = $1 AND event.submission = s.id AND event.trace_id = $2) AS ordinals,
          EXISTS (SELECT FROM countersign.telemetry_events AS event
                   WHERE event.tenant_id = $1 AND event.submission = s.id AND event.trace_id <> $2) AS "hasOthers"
     FROM countersign.telemetry_submissions AS s
    WHERE s.tenant_id = $1 AND s.id IN (
      SELECT submission FROM countersign.telemetry_events WHERE tenant_id = $1 AND trace_id = $2)
    ORDER BY s.id FOR UPDATE OF s`,
);

/** Locks and returns the telemetry requests with events of a run, sorted by ID. */
export const lockTelemetryOfRun = (tx: Transaction, traceId: string): Promise<SubmissionOfRun[]> =>
  tx.run(LOCK_OF_RUN, [tx.tenantId, traceId]);

const DELETE_OF_RUN = sql<{ ordinal: number }>(
  'delete_telemetry_events_of_run',
  `DELETE FROM countersign.telemetry_events WHERE tenant_id = $1 AND trace_id = $2 AND submission = ANY ($3::uuid[])
   RETURNING ordinal`,
);

/**
 * Deletes the events of a run in these telemetry requests, and returns their number. Events of requests that arrived later are kept,
 * because the documents of these requests still contain them.
 */
export const deleteTelemetryOfRun = async (tx: Transaction, traceId: string, submissions: readonly string[]): Promise<number> =>
  (await tx.run(DELETE_OF_RUN, [tx.tenantId, traceId, uuidArray(submissions)])).length;

const REPLACE = sql(
  'replace_telemetry_document',
  `UPDATE countersign.telemetry_submissions SET document = $3, segment = NULL, segment_offset = NULL, segment_length = NULL
    WHERE tenant_id = $1 AND id = $2`,
);

/** Replaces the document of a telemetry request, and stores the new one in the row of the request. */
export const replaceTelemetryDocument = (tx: Transaction, id: string, document: string): void =>
  tx.send(REPLACE, [tx.tenantId, id, document]);
