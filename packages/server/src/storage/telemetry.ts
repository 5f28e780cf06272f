import type { Usage } from '@countersign/core/domain/usage';
import {
  boolArray,
  documentArray,
  int4Array,
  int8Array,
  textArray,
  timestampArray,
  uuidArray,
} from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { type DocumentPlace, PLACE_COLUMNS, placeArrays } from './document-segments.ts';

/** The values of a telemetry event for searches and sums. The document of its request has all values of the event. */
export interface TelemetryRow {
  /** Its position in the request, from 0. */
  ordinal: number;
  traceId: string;
  outcome: string;
  status: string | null;
  model: string | null;
  provider: string | null;
  sessionId: string | null;
  externalUserId: string | null;
  latencyMs: number | null;
  toolCount: number | null;
  usage: Usage;
  hasError: boolean;
  /** Microseconds since 1970. */
  startedAt: bigint | null;
  /** Microseconds since 1970. */
  endedAt: bigint | null;
}

const INSERT_SUBMISSIONS = sql(
  'insert_telemetry_submissions',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.telemetry_submissions (tenant_id, id, received_at, recorded_by, document, ${PLACE_COLUMNS})
   SELECT $1, id, statement_timestamp(), recorded_by, document, ${PLACE_COLUMNS}
     FROM unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::integer[], $7::integer[]) AS sent (id, recorded_by, document, ${PLACE_COLUMNS})`,
    '$2::uuid[]',
  ),
);

/** A telemetry request, ready to be stored. */
export interface TelemetrySubmission {
  id: string;
  recordedBy: string;
  document: Buffer;
  /** The place of the document in a segment; null if the document is stored in the row. */
  place: DocumentPlace | null;
}

/** Stores telemetry requests with their documents, byte for byte. Documents in segments are stored by `insertSegments`. */
export function insertTelemetrySubmissions(tx: Transaction, submissions: readonly TelemetrySubmission[]): void {
  tx.send(INSERT_SUBMISSIONS, [
    tx.tenantId,
    uuidArray(submissions.map(({ id }) => id)),
    textArray(submissions.map(({ recordedBy }) => recordedBy)),
    documentArray(submissions.map(({ document, place }) => (place === null ? document : null))),
    ...placeArrays(submissions.map(({ place }) => place)),
  ]);
}

const INSERT_EVENTS = sql(
  'insert_telemetry_events',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.telemetry_events (tenant_id, submission, ordinal, trace_id, outcome, status, agent_id, model, provider, session_id,
     external_user_id, latency_ms, tool_count, prompt_tokens, completion_tokens, total_tokens, cost_usd, has_error, started_at, ended_at,
     received_at)
   SELECT $1, submission, ordinal, trace_id, outcome, status, agent_id, model, provider, session_id, external_user_id, latency_ms,
     tool_count, prompt_tokens, completion_tokens, total_tokens, cost_usd::numeric, has_error, started_at, ended_at, statement_timestamp()
     FROM unnest($2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::text[], $11::text[],
       $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::boolean[], $19::timestamptz[],
       $20::timestamptz[])
       AS sent (submission, ordinal, trace_id, outcome, status, agent_id, model, provider, session_id, external_user_id, latency_ms,
         tool_count, prompt_tokens, completion_tokens, total_tokens, cost_usd, has_error, started_at, ended_at)`,
    '$2::uuid[]',
  ),
);

/** Stores the events of telemetry requests. `submission` is the ID of the request. */
export function insertTelemetryEvents(
  tx: Transaction,
  rows: readonly { submission: string; agentId: string | null; event: TelemetryRow }[],
): void {
  const events = rows.map(({ event }) => event);
  tx.send(INSERT_EVENTS, [
    tx.tenantId,
    uuidArray(rows.map(({ submission }) => submission)),
    int4Array(events.map(({ ordinal }) => ordinal)),
    textArray(events.map(({ traceId }) => traceId)),
    textArray(events.map(({ outcome }) => outcome)),
    textArray(events.map(({ status }) => status)),
    uuidArray(rows.map(({ agentId }) => agentId)),
    textArray(events.map(({ model }) => model)),
    textArray(events.map(({ provider }) => provider)),
    textArray(events.map(({ sessionId }) => sessionId)),
    textArray(events.map(({ externalUserId }) => externalUserId)),
    int8Array(events.map(({ latencyMs }) => latencyMs)),
    int8Array(events.map(({ toolCount }) => toolCount)),
    int8Array(events.map(({ usage }) => usage.promptTokens)),
    int8Array(events.map(({ usage }) => usage.completionTokens)),
    int8Array(events.map(({ usage }) => usage.totalTokens)),
    textArray(events.map(({ usage }) => usage.costUsd)),
    boolArray(events.map(({ hasError }) => hasError)),
    timestampArray(events.map(({ startedAt }) => startedAt)),
    timestampArray(events.map(({ endedAt }) => endedAt)),
  ]);
}
