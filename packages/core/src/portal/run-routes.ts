import { type Static, Type } from 'typebox';
import { amount, anything, count, dateTime, flag, freeObject, label, nullable, oneOf, text, uuid } from '../contract/scalars.ts';
import { cursorText, filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';
import { RUN_SOURCES, RunSummary, runFacts, usage } from './run-facts.ts';

/** The kinds of steps. */
export const SPAN_KINDS = ['agent', 'llm', 'tool', 'retrieval', 'guardrail', 'other'] as const;

/** One request that brought (a part of) a trace; its bytes are kept as they came. */
export const Submission = Type.Object({
  number: count({ minimum: 1, description: '1 for the first of its trace.' }),
  received_at: dateTime({ description: 'When it was received.' }),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
  bytes: count({ description: 'Size of its document.' }),
  media_type: label({ description: 'Media type of what came: application/json, or application/x-protobuf of OpenTelemetry.' }),
  redacted: flag({ description: 'Whether user ids that were personal data were overwritten before it was kept.' }),
});
export type Submission = Static<typeof Submission>;

/** A score that somebody gave to one answer of a run (`gen_ai.evaluation.result`). It is no evaluation of the agent. */
export const RunFinding = Type.Object({
  span_id: label({ description: 'The step that was judged.' }),
  name: text({ description: 'What was judged, for example relevance.' }),
  score: nullable(amount({ description: 'The score, in whatever range its sender uses.' })),
  label: nullable(text({ description: 'The score in words.' })),
  explanation: nullable(text({ description: 'Why.' })),
  at: nullable(dateTime({ description: 'When it was judged, as its sender said.' })),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
});
export type RunFinding = Static<typeof RunFinding>;

/** One trace without its steps: those are a list of their own. */
export const TraceDetail = Type.Object({
  id: uuid({ description: 'Identifier of the trace.' }),
  ...runFacts,
  span_count: count({ description: 'Steps of the merged trace.' }),
  detail: nullable(text({ description: 'What the run was about: the last that was sent.' })),
  error: nullable(text({ description: 'The error: the last that was sent.' })),
  metadata: nullable(freeObject({ description: 'Free-form: the last that was sent.' })),
  submissions: Type.Array(Submission, { description: 'The latest 200 submissions, oldest first.' }),
  submission_count: count({ description: 'How many there are in all.' }),
  findings: Type.Array(RunFinding, { description: 'The first 200 findings.' }),
  telemetry: Type.Array(RunSummary, { description: 'The latest 50 telemetry events of the same trace_id, newest first.' }),
});
export type TraceDetail = Static<typeof TraceDetail>;

/** A step as it stands in the tree: everything but what was said and answered. */
export const SpanRow = Type.Object({
  span_id: label({ description: 'Identifier of the step, once in a trace.' }),
  parent_span_id: nullable(label({ description: 'The step it belongs to, which need not be there; null at the top.' })),
  position: count({ description: 'Place in the order in which the steps came, from 0.' }),
  kind: oneOf(SPAN_KINDS, { description: 'What kind of step it was.' }),
  name: label({ description: 'Its name.' }),
  status: label({ description: 'How it ended.' }),
  model: nullable(label({ description: 'The model that was called.' })),
  provider: nullable(label({ description: 'Who offers the model.' })),
  ...usage,
  latency_ms: nullable(count({ description: 'Duration in milliseconds.' })),
  started_at: nullable(dateTime({ description: 'When it began, as its sender said.' })),
  ended_at: nullable(dateTime({ description: 'When it ended, as its sender said.' })),
  error: nullable(text({ description: 'The error; its first 2,000 characters.' })),
  has_payload: flag({ description: 'Whether there are messages, arguments, results, input, output or metadata to open.' }),
});
export type SpanRow = Static<typeof SpanRow>;

/**
 * The steps of a trace: at most 1,000 in a page, which ends earlier behind 8 MiB of documents that were read for it, or behind 1,000
 * submissions. Where these were replaced by later ones, a page may be empty and yet have a next one.
 */
export const SpanPage = page(SpanRow);
export type SpanPage = Static<typeof SpanPage>;

/** What a step or an event said at length; absent where nothing was sent. */
export const Payload = Type.Object({
  input: Type.Optional(anything({ description: 'What went in.' })),
  output: Type.Optional(anything({ description: 'What came out.' })),
  messages: Type.Optional(anything({ description: 'The conversation, in order, each message with role and content.' })),
  tool_arguments: Type.Optional(anything({ description: 'Arguments of the tool call.' })),
  tool_result: Type.Optional(anything({ description: 'What the tool answered.' })),
  error: Type.Optional(text({ description: 'The error.' })),
  metadata: Type.Optional(anything({ description: 'Free-form.' })),
  others: Type.Optional(freeObject({ description: 'Members that the contract does not name, as they were sent.' })),
});
export type Payload = Static<typeof Payload>;

/** What one step said at length, with the submission that it stands in. */
export const SpanPayload = Type.Object({
  span_id: label({ description: 'Identifier of the step.' }),
  submission: count({ minimum: 1, description: 'Number of the submission whose bytes it was read from.' }),
  payload: Payload,
});
export type SpanPayload = Static<typeof SpanPayload>;

/** One telemetry event. */
export const EventDetail = Type.Object({
  id: uuid({ description: 'Identifier of its submission.' }),
  ordinal: count({ description: 'Its place in the submission, from 0.' }),
  ...runFacts,
  status: nullable(label({ description: 'Its status.' })),
  model: nullable(label({ description: 'The model.' })),
  provider: nullable(label({ description: 'Who offers the model.' })),
  tool_count: nullable(count({ description: 'Tool calls of the run.' })),
  detail: nullable(text({ description: 'What the run was about.' })),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
  payload: Payload,
  trace: nullable(uuid({ description: 'The trace of the same trace_id, when there is one.' })),
});
export type EventDetail = Static<typeof EventDetail>;

export const runRoutes = {
  'runs.list': {
    method: 'GET',
    path: `${WORKSPACE}/runs`,
    access: 'viewer',
    compressed: true,
    summary: 'Traces and telemetry events in one list, newest first.',
    query: pageQuery({
      source: filter.oneOf(RUN_SOURCES, 'Traces alone, or telemetry events alone.'),
      agent_id: filter.agent(),
      outcome: filter.label(
        'Of this outcome alone, for example failure; `incomplete` and `arriving` are traces without their root span.',
      ),
      from: filter.from(),
      to: filter.to(),
      session_id: filter.label('Of this session alone.'),
      text: filter.label(
        'Those that have it in their trace_id or in the name of their agent, upper and lower case alike, or whose session it is.',
      ),
    }),
    answer: page(RunSummary),
  },
  'runs.trace': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace`,
    access: 'viewer',
    compressed: true,
    summary: 'One trace without its steps.',
    answer: TraceDetail,
  },
  'runs.spans': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/spans`,
    access: 'viewer',
    compressed: true,
    summary: 'The steps of a trace as merged, in the order in which they came; the tree is made by parent_span_id.',
    query: Type.Object({ cursor: Type.Optional(cursorText()) }, { additionalProperties: false }),
    answer: SpanPage,
  },
  'runs.span': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/payload`,
    access: 'viewer',
    compressed: true,
    summary: 'What one step said at length: messages, arguments, results, metadata.',
    query: Type.Object({ span_id: label({ description: 'The step.' }) }, { additionalProperties: false }),
    answer: SpanPayload,
  },
  'runs.submission': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/submissions/:number`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: one submission of a trace, byte for byte as it came; of an export of OpenTelemetry the whole export.',
  },
  'runs.event': {
    method: 'GET',
    path: `${WORKSPACE}/runs/events/:submission/:ordinal`,
    access: 'viewer',
    compressed: true,
    summary: 'One telemetry event.',
    answer: EventDetail,
  },
  'runs.event_submission': {
    method: 'GET',
    path: `${WORKSPACE}/runs/events/:submission`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: the submission that brought telemetry events, byte for byte as it came.',
  },
} as const satisfies Record<string, PortalRoute>;
