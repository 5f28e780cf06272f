import { type Static, Type } from 'typebox';
import { messages } from './message.ts';
import {
  anything,
  count,
  flag,
  freeObject,
  label,
  opaqueUserId,
  optional,
  registeringName,
  sentDateTime,
  text,
  uuid,
} from './scalars.ts';
import { usageFields } from './usage-fields.ts';

/** The maximum number of events in a batch. */
export const EVENTS_MAX = 200;

/** The lightweight summary of one run. */
export const TelemetryEvent = Type.Object(
  {
    trace_id: label({ description: 'ID of the run.', examples: ['run-2026-11-20-0001'] }),
    outcome: label({ description: 'How the run ended; any label.', examples: ['success'] }),
    status: optional(label({ description: 'Status of the run; any label.' })),
    latency_ms: optional(count({ description: 'Duration in milliseconds.' })),
    tool_count: optional(count({ description: 'How many tool calls the run made.' })),
    detail: optional(text({ description: 'What the run was about.' })),
    agent_id: optional(uuid({ description: 'A registered agent.' })),
    agent_name: optional(registeringName()),
    model: optional(label({ description: 'Model identifier.' })),
    provider: optional(label({ description: 'Model provider identifier.' })),
    ...usageFields('the run'),
    input: optional(anything({ description: 'The input.' })),
    output: optional(anything({ description: 'The output.' })),
    messages: messages(),
    error: optional(text({ description: 'The error, if any.' })),
    session_id: optional(label({ description: 'The session that the run belongs to.' })),
    external_user_id: optional(opaqueUserId({ description: "The caller's own user identifier. Never personal data." })),
    metadata: optional(freeObject({ description: 'Free-form.' })),
    started_at: optional(sentDateTime({ description: 'When the run began.' })),
    ended_at: optional(sentDateTime({ description: 'When the run ended.' })),
  },
  { $id: 'TelemetryEvent', description: 'The lightweight summary of one run. Traces contain more detail.' },
);
export type TelemetryEvent = Static<typeof TelemetryEvent>;

/** A batch of 1 to 200 events, stored atomically. */
export const TelemetryBatch = Type.Object(
  {
    events: Type.Unsafe<TelemetryEvent[]>({
      type: 'array',
      minItems: 1,
      maxItems: EVENTS_MAX,
      items: TelemetryEvent,
      description: 'The events, in order.',
    }),
  },
  { $id: 'TelemetryBatch', description: 'A batch of telemetry events.' },
);
export type TelemetryBatch = Static<typeof TelemetryBatch>;

/** Body of POST /api/public/telemetry: one event, or a batch. */
export type Telemetry = TelemetryEvent | TelemetryBatch;

/** Returns the schema that a body must match: TelemetryBatch if it has `events` other than null, else TelemetryEvent. */
export const telemetryForm = (body: unknown): typeof TelemetryEvent | typeof TelemetryBatch => {
  const events =
    typeof body === 'object' && body !== null && Object.hasOwn(body, 'events') ? (body as { events: unknown }).events : null;
  return events === null ? TelemetryEvent : TelemetryBatch;
};

/** Returns the events of a valid body: the events of a batch, or the single event. */
export const telemetryEvents = (body: Telemetry): TelemetryEvent[] =>
  'events' in body && body.events ? body.events : [body as TelemetryEvent];

/** Response of POST /api/public/telemetry. */
export const TelemetryAccepted = Type.Object(
  {
    ok: flag({ description: 'Always true: the record is committed.' }),
    ingested: count({ description: 'How many events were stored.' }),
  },
  { $id: 'TelemetryAccepted' },
);
export type TelemetryAccepted = Static<typeof TelemetryAccepted>;
