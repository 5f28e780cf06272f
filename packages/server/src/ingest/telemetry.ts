import { type Telemetry, type TelemetryEvent, telemetryEvents } from '@countersign/core/contract/telemetry';
import { agentClaim } from '@countersign/core/domain/agent-claim';
import { parseDateTime } from '@countersign/core/domain/instant';
import { usageOf } from '@countersign/core/domain/usage';
import type { TelemetryRow } from '../storage/telemetry.ts';
import type { Endpoint } from './endpoint.ts';
import { recordedByKey } from './ingest-request.ts';
import { idempotencyOf } from './replays.ts';
import { withSums } from './sum-too-large.ts';
import type { PreparedTelemetry } from './write-telemetry.ts';

/** POST /api/public/telemetry: stores one event, or a batch of events atomically. */
export const ingestTelemetry: Endpoint<Telemetry, Omit<PreparedTelemetry, 'document'>> = {
  prepare: (request, body) => {
    const isBatch = 'events' in body && body.events != null;
    const events = telemetryEvents(body);
    const pathOf = (index: number) => (isBatch ? ['events', index] : []);
    return {
      bytes: request.document.length + events.length * ROW_BYTES,
      ...idempotencyOf(request),
      recordedBy: recordedByKey(request.principal),
      events: withSums(events, eventRow, pathOf),
      claims: events.map((event, index) => agentClaim(event, pathOf(index))),
    };
  },
  submit: ({ telemetry }, { principal, document }, prepared) => telemetry.submit(principal.tenantId, { ...prepared, document }),
};

/** The approximate memory of a prepared row in addition to the document, in bytes. */
const ROW_BYTES = 500;

function eventRow(event: TelemetryEvent, ordinal: number): TelemetryRow {
  return {
    ordinal,
    traceId: event.trace_id,
    outcome: event.outcome,
    status: event.status ?? null,
    model: event.model ?? null,
    provider: event.provider ?? null,
    sessionId: event.session_id ?? null,
    externalUserId: event.external_user_id ?? null,
    latencyMs: event.latency_ms ?? null,
    toolCount: event.tool_count ?? null,
    usage: usageOf(event),
    hasError: event.error != null && event.error !== '',
    startedAt: event.started_at == null ? null : (parseDateTime(event.started_at) ?? null),
    endedAt: event.ended_at == null ? null : (parseDateTime(event.ended_at) ?? null),
  };
}
