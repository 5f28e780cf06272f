import type { LogKind } from '@countersign/core/otlp/map-logs';
import { digestArray, int4Array, textArray, timestampArray, uuidArray } from '../database/binary-array.ts';
import { FENCE } from '../database/planner.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { expiryClock } from './expiry-clock.ts';
import { lockTraces } from './traces.ts';

/** A log record of a span, or a finding in an event of a span, ready to be stored. */
export interface LogRecordRow {
  traceId: string;
  spanId: string;
  /** The digest of its kind, time and document, hex. A repeated record has the same digest. */
  sha256: string;
  kind: LogKind;
  /** Microseconds since 1970; null when not sent. */
  happenedAt: bigint | null;
  /** Its position among the stored records of a log export, or among the findings of its trace. */
  place: number;
  recordedBy: string;
  /** `otlp_exports.id`. */
  export: string;
  document: string;
}

/**
 * If this many records of a workspace wait for their traces, further records are rejected (otlp/write-log-records.ts). Concurrent batches
 * do not see each other's records, so slightly more can wait.
 */
export const WAITING_MAX = 10_000;

const KNOWN = sql<{ trace_id: string }>(
  'find_known_trace_ids',
  `SELECT input.trace_id FROM unnest($2::text[]) AS input (trace_id) CROSS JOIN LATERAL (
     SELECT FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = input.trace_id ${FENCE}) AS known`,
);

/** Those of the given trace_ids that belong to stored traces. */
export const findKnownTraceIds = async (tx: Transaction, traceIds: readonly string[]): Promise<Set<string>> =>
  new Set((await tx.run(KNOWN, [tx.tenantId, textArray(traceIds)])).map(({ trace_id }) => trace_id));

const COUNT_WAITING = sql<{ waiting: number }>(
  'count_waiting_log_records',
  `SELECT count(*) AS waiting FROM (
     SELECT FROM countersign.log_records WHERE tenant_id = $1 AND NOT joined LIMIT ${WAITING_MAX}) AS counted`,
);

/** The number of records that wait for their traces, counted up to WAITING_MAX. */
export const countWaiting = async (tx: Transaction): Promise<number> => (await tx.run(COUNT_WAITING, [tx.tenantId]))[0]!.waiting;

const INSERT = sql(
  'insert_log_records',
  `INSERT INTO countersign.log_records (tenant_id, trace_id, span_id, sha256, kind, happened_at, place, received_at, recorded_by, export,
     document, joined)
   SELECT $1, trace_id, span_id, sha256, kind, happened_at, place, statement_timestamp(), recorded_by, export, document,
          EXISTS (SELECT FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = sent.trace_id)
     FROM unnest($2::text[], $3::text[], $4::bytea[], $5::text[], $6::timestamptz[], $7::integer[], $8::text[], $9::uuid[], $10::text[])
       AS sent (trace_id, span_id, sha256, kind, happened_at, place, recorded_by, export, document)
    ORDER BY trace_id, span_id, sha256
   ON CONFLICT DO NOTHING`,
);

/** Stores log records. A record is joined if its trace is stored; otherwise it waits for the trace. A repeated record is ignored. */
export function insertLogRecords(tx: Transaction, records: readonly LogRecordRow[]): void {
  if (records.length === 0) return;
  tx.send(INSERT, [
    tx.tenantId,
    textArray(records.map(({ traceId }) => traceId)),
    textArray(records.map(({ spanId }) => spanId)),
    digestArray(records.map(({ sha256 }) => sha256)),
    textArray(records.map(({ kind }) => kind)),
    timestampArray(records.map(({ happenedAt }) => happenedAt)),
    int4Array(records.map(({ place }) => place)),
    textArray(records.map(({ recordedBy }) => recordedBy)),
    uuidArray(records.map((record) => record.export)),
    textArray(records.map(({ document }) => document)),
  ]);
}

/** SQL that sets has_error on the traces whose trace_ids the given query selects. */
const markFailing = (traceIds: string): string =>
  `UPDATE countersign.traces AS kept SET has_error = true
     FROM (SELECT found.ctid AS place FROM (${traceIds}) AS failing CROSS JOIN LATERAL (
             SELECT ctid FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = failing.trace_id AND NOT t.has_error
              ${FENCE}) AS found) AS failed
    WHERE kept.tenant_id = $1 AND kept.ctid = failed.place`;

const MARK = sql('mark_failing_traces', markFailing('SELECT trace_id FROM unnest($2::text[]) AS sent (trace_id)'));

/** Sets has_error on the stored traces with these trace_ids. */
export function markFailingTraces(tx: Transaction, traceIds: readonly string[]): void {
  tx.send(MARK, [tx.tenantId, textArray(traceIds)]);
}

const JOIN = sql(
  'join_log_records',
  `WITH joined AS (
     UPDATE countersign.log_records AS kept SET joined = true
       FROM (SELECT found.ctid AS place FROM unnest($2::text[]) AS input (trace_id) CROSS JOIN LATERAL (
               SELECT ctid FROM countersign.log_records AS l WHERE l.tenant_id = $1 AND l.trace_id = input.trace_id AND NOT l.joined
                ${FENCE}) AS found) AS waiting
      WHERE kept.tenant_id = $1 AND kept.ctid = waiting.place RETURNING kept.trace_id, kept.kind)
   ${markFailing(`SELECT DISTINCT trace_id FROM joined WHERE kind = 'exception'`)}`,
);

/** Joins waiting records to these traces: the records stop waiting, and traces with an exception record are marked as having an error. */
export function joinLogRecords(tx: Transaction, traceIds: readonly string[]): void {
  tx.send(JOIN, [tx.tenantId, textArray(traceIds)]);
}

const JOINABLE = sql<{ trace_id: string }>(
  'find_joinable_log_records',
  `SELECT DISTINCT trace_id FROM countersign.log_records AS l WHERE tenant_id = $1 AND NOT joined
      AND EXISTS (SELECT FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = l.trace_id)`,
);

/**
 * Joins the waiting records whose traces are stored. `POST /api/public/traces` does not join records, because its traces rarely have log
 * records.
 */
export async function joinRecordsOfStoredTraces(tx: Transaction): Promise<void> {
  const traceIds = (await tx.run(JOINABLE, [tx.tenantId])).map(({ trace_id }) => trace_id);
  if (traceIds.length === 0) return;
  await lockTraces(tx, traceIds);
  joinLogRecords(tx, traceIds);
}

const DELETE_WAITING = sql<{ trace_id: string }>(
  'delete_waiting_log_records',
  `DELETE FROM countersign.log_records AS l USING (
     SELECT trace_id, span_id, sha256 FROM countersign.log_records
      WHERE tenant_id = $1 AND NOT joined AND received_at <= ${expiryClock(2)} - interval '24 hours' ORDER BY received_at LIMIT 5000) AS past
    WHERE l.tenant_id = $1 AND (l.trace_id, l.span_id, l.sha256) = (past.trace_id, past.span_id, past.sha256)
      AND NOT EXISTS (SELECT FROM countersign.traces AS t WHERE t.tenant_id = $1 AND t.trace_id = l.trace_id)
   RETURNING l.trace_id`,
);

/** Deletes up to 5,000 records whose traces did not arrive within 24 hours, and returns their number. */
export const deleteWaitingLogRecords = async (tx: Transaction): Promise<number> =>
  (await tx.run(DELETE_WAITING, [tx.tenantId, ...tx.clock.expiryBounds()])).length;
