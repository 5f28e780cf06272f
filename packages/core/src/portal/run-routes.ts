import { type Static, Type } from 'typebox';
import { amount, anything, count, dateTime, flag, freeObject, label, nullable, oneOf, text, uuid } from '../contract/scalars.ts';
import { DifferingRow } from './differing-row.ts';
import { cursorText, filter, page, pageQuery, WORKSPACE } from './listing.ts';
import type { PortalRoute } from './route.ts';
import { RUN_SOURCES, RunSummary, runFacts, usage } from './run-facts.ts';

/** The kinds of steps of a run. */
export const SPAN_KINDS = ['agent', 'llm', 'tool', 'retrieval', 'guardrail', 'other'] as const;

/**
 * One request with a trace or a part of it. Its bytes are stored unchanged, except for user IDs that were overwritten. An OpenTelemetry
 * export is deleted when a run in it is erased.
 */
export const Submission = Type.Object({
  number: count({ minimum: 1, description: 'Its number among the submissions of the trace, from 1.' }),
  received_at: dateTime({ description: 'When it was received.' }),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
  bytes: count({ description: 'Size of the body of the request in bytes, decompressed.' }),
  media_type: label({ description: 'Original media type: application/json, or application/x-protobuf of OpenTelemetry.' }),
  redacted: flag({ description: 'Whether user IDs with personal data were overwritten before it was stored.' }),
  deleted: flag({
    description:
      'Whether it was an export that was deleted because it also contained an erased run. If so, `bytes` and `media_type` describe the ' +
      'document that the service had mapped from the export, and there is no file.',
  }),
});
export type Submission = Static<typeof Submission>;

/** A score of one answer in a run (`gen_ai.evaluation.result`). It is not an evaluation of the agent. */
export const RunFinding = Type.Object({
  span_id: label({ description: 'The step that was judged.' }),
  name: text({ description: 'What was judged, for example relevance.' }),
  score: nullable(amount({ description: 'The score, in the range that its sender uses.' })),
  label: nullable(text({ description: 'The score as a word, for example relevant.' })),
  explanation: nullable(text({ description: 'Why the answer has this score.' })),
  at: nullable(dateTime({ description: 'When it was judged, according to its sender.' })),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
});
export type RunFinding = Static<typeof RunFinding>;

/**
 * One trace without its steps, which are a separate list. `detail`, `error` and `metadata` come from the latest 20 submissions only, of
 * which at most 8 MiB are read, unless the latest one is larger.
 */
export const TraceDetail = Type.Object({
  id: uuid({ description: 'ID of the trace.' }),
  ...runFacts,
  span_count: count({ description: 'The number of steps of the merged trace.' }),
  detail: nullable(text({ description: 'What the run was about, as sent last.' })),
  error: nullable(text({ description: 'The error, as sent last.' })),
  metadata: nullable(freeObject({ description: 'Free-form, as sent last.' })),
  submissions: Type.Array(Submission, { description: 'The latest 200 submissions, oldest first.' }),
  submission_count: count({ description: 'The total number of submissions.' }),
  findings: Type.Array(RunFinding, { description: 'The first 200 findings by time.' }),
  telemetry: Type.Array(RunSummary, { description: 'The latest 50 telemetry events of the same trace_id, newest first.' }),
  differing_rows: Type.Array(DifferingRow, {
    description:
      'Rows of this run that differ from the trace log, as of the last comparison, and documents that could not be read for this response.',
  }),
});
export type TraceDetail = Static<typeof TraceDetail>;

/** A step in the tree, without its payload. */
export const SpanRow = Type.Object({
  span_id: label({ description: 'ID of the step, unique in its trace.' }),
  parent_span_id: nullable(label({ description: 'The parent step, which may be missing; null at the top.' })),
  position: count({ description: 'Position in the order of arrival, from 0.' }),
  kind: oneOf(SPAN_KINDS, { description: 'The kind of the step.' }),
  name: label({ description: 'Its name.' }),
  status: label({ description: 'How it ended.' }),
  model: nullable(label({ description: 'The model that was called.' })),
  provider: nullable(label({ description: 'The model provider.' })),
  ...usage,
  latency_ms: nullable(count({ description: 'Duration in milliseconds.' })),
  started_at: nullable(dateTime({ description: 'When it began, according to its sender.' })),
  ended_at: nullable(dateTime({ description: 'When it ended, according to its sender.' })),
  error: nullable(text({ description: 'The error; its first 2,000 characters.' })),
  has_payload: flag({
    description: 'Whether its payload contains more than this row, such as messages, arguments or the rest of a long error.',
  }),
});
export type SpanRow = Static<typeof SpanRow>;

/**
 * The steps of a trace. A page ends after 1,000 steps, 1,000 submissions, 8 MiB of documents, or 2 MiB of the facts of steps, which are
 * stored apart from the documents. It can be larger only if its first submission is larger. If later submissions replaced all steps that
 * were read, the page is empty but may have a next page.
 */
export const SpanPage = page(SpanRow);
export type SpanPage = Static<typeof SpanPage>;

/** The payload of a step or a telemetry event. A member is absent if it was not sent or was null. */
export const Payload = Type.Object({
  input: Type.Optional(anything({ description: 'The input.' })),
  output: Type.Optional(anything({ description: 'The output.' })),
  messages: Type.Optional(anything({ description: 'The conversation, in order, each message with role and content.' })),
  tool_arguments: Type.Optional(anything({ description: 'Arguments of the tool call.' })),
  tool_result: Type.Optional(anything({ description: 'The result of the tool call.' })),
  error: Type.Optional(text({ description: 'The error.' })),
  metadata: Type.Optional(anything({ description: 'Free-form.' })),
  others: Type.Optional(freeObject({ description: 'Members that the contract does not name, as they were sent.' })),
});
export type Payload = Static<typeof Payload>;

/** The payload of one step, with the submission that contains it. */
export const SpanPayload = Type.Object({
  span_id: label({ description: 'ID of the step.' }),
  submission: count({ minimum: 1, description: 'The number of the submission that contains the payload.' }),
  payload: Payload,
});
export type SpanPayload = Static<typeof SpanPayload>;

/** One telemetry event. */
export const EventDetail = Type.Object({
  id: uuid({ description: 'ID of its submission.' }),
  ordinal: count({ description: 'Its index in the submission, from 0.' }),
  ...runFacts,
  status: nullable(label({ description: 'Its status.' })),
  model: nullable(label({ description: 'The model.' })),
  provider: nullable(label({ description: 'The model provider.' })),
  tool_count: nullable(count({ description: 'The number of tool calls that the event reports.' })),
  detail: nullable(text({ description: 'What the run was about.' })),
  recorded_by: label({ description: 'Who sent it: key:<prefix>.' }),
  payload: Payload,
  trace: nullable(uuid({ description: 'The trace with the same trace_id; null if there is none.' })),
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
      source: filter.oneOf(RUN_SOURCES, 'Only traces or only telemetry events.'),
      agent_id: filter.agent(),
      outcome: filter.label(
        'Only this outcome, for example failure. `arriving` and `incomplete` select traces whose root span has not arrived.',
      ),
      from: filter.from(),
      to: filter.to(),
      session_id: filter.label('Only this session.'),
      text: filter.label(
        'A part of the trace_id or of the agent name, ignoring case, or a complete session ID. Only the first 50 matching agents count.',
      ),
    }),
    response: page(RunSummary),
  },
  'runs.trace': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace`,
    access: 'viewer',
    compressed: true,
    summary: 'One trace without its steps.',
    response: TraceDetail,
  },
  'runs.spans': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/spans`,
    access: 'viewer',
    compressed: true,
    summary: 'The steps of the merged trace in the order of arrival. Their parent_span_id members form the tree.',
    query: Type.Object({ cursor: Type.Optional(cursorText()) }, { additionalProperties: false }),
    response: SpanPage,
  },
  'runs.span': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/payload`,
    access: 'viewer',
    compressed: true,
    summary: 'The payload of one step, such as messages, arguments and results.',
    query: Type.Object({ span_id: label({ description: 'The step.' }) }, { additionalProperties: false }),
    response: SpanPayload,
  },
  'runs.submission': {
    method: 'GET',
    path: `${WORKSPACE}/runs/traces/:trace/submissions/:number`,
    access: 'viewer',
    compressed: false,
    summary:
      'A file: one submission of a trace, as it was stored. For OpenTelemetry, the file is the whole export. 404 if it was deleted.',
  },
  'runs.event': {
    method: 'GET',
    path: `${WORKSPACE}/runs/events/:submission/:ordinal`,
    access: 'viewer',
    compressed: true,
    summary: 'One telemetry event.',
    response: EventDetail,
  },
  'runs.event_submission': {
    method: 'GET',
    path: `${WORKSPACE}/runs/events/:submission`,
    access: 'viewer',
    compressed: false,
    summary: 'A file: a submission of telemetry events, in its original bytes, except that null replaces erased events.',
  },
} as const satisfies Record<string, PortalRoute>;
