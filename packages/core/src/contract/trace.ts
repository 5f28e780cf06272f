import { type Static, Type } from 'typebox';
import { messages } from './message.ts';
import {
  amount,
  anything,
  count,
  flag,
  freeObject,
  label,
  nullable,
  oneOf,
  opaqueUserId,
  optional,
  registeringName,
  sentDateTime,
  text,
  uuid,
} from './scalars.ts';
import { TRACE_DEFAULTS, usageFields } from './usage-fields.ts';

/** The maximum number of spans in one request. */
export const SPANS_MAX = 500;

/** One step of a run. */
export const Span = Type.Object(
  {
    span_id: label({
      description:
        'ID of the step, unique in a request. A span with the same ID in a later request replaces the step completely.',
      examples: ['s1'],
    }),
    parent_span_id: optional(label({ description: 'The parent step, which may arrive later.' })),
    kind: oneOf(['agent', 'llm', 'tool', 'retrieval', 'guardrail', 'other'], {
      description: 'What kind of step it was.',
      examples: ['llm'],
    }),
    name: label({ description: 'Name of the step.', examples: ['plan'] }),
    status: optional(label({ description: 'How the step ended.', default: 'success', examples: ['success'] })),
    model: optional(label({ description: 'Model identifier.', examples: ['gpt-4o'] })),
    provider: optional(label({ description: 'Model provider identifier.', examples: ['openai'] })),
    ...usageFields('the step'),
    input: optional(anything({ description: 'The input.' })),
    output: optional(anything({ description: 'The output.' })),
    messages: messages(),
    tool_arguments: optional(anything({ description: 'Arguments of the tool call.' })),
    tool_result: optional(anything({ description: 'The result of the tool call.' })),
    error: optional(text({ description: 'The error, if any.' })),
    latency_ms: optional(count({ description: 'Duration in milliseconds.', examples: [420] })),
    started_at: optional(sentDateTime({ description: 'When the step began.' })),
    ended_at: optional(sentDateTime({ description: 'When the step ended; stored unchanged, even if it is before the start.' })),
    metadata: optional(freeObject({ description: 'Free-form.' })),
  },
  { $id: 'Span', description: 'One step of a run: a model call, a tool call, a retrieval, a guardrail, an agent step.' },
);
export type Span = Static<typeof Span>;

/** Body of POST /api/public/traces: the detailed record of one agent run. */
export const Trace = Type.Object(
  {
    trace_id: label({
      description: 'The ID of the run, which the client generates and never changes. Traces with the same ID are merged.',
      examples: ['run-2026-11-20-0001'],
    }),
    outcome: optional(
      oneOf(['success', 'failure', 'escalated', 'blocked'], {
        description: 'How the run ended. The default applies until a request for this trace_id has an outcome.',
        default: 'success',
      }),
    ),
    agent_id: optional(uuid({ description: 'A registered agent.' })),
    agent_name: optional(registeringName()),
    session_id: optional(label({ description: 'The session that the run belongs to.' })),
    external_user_id: optional(opaqueUserId({ description: "The caller's own user identifier. Never personal data." })),
    latency_ms: optional(count({ description: 'Duration of the run in milliseconds.' })),
    detail: optional(text({ description: 'What the run was about.' })),
    error: optional(text({ description: 'The error, if any.' })),
    started_at: optional(sentDateTime({ description: 'When the run began.' })),
    ended_at: optional(sentDateTime({ description: 'When the run ended.' })),
    metadata: optional(freeObject({ description: 'Free-form.' })),
    ...usageFields('the run', TRACE_DEFAULTS),
    spans: optional(
      Type.Unsafe<Span[]>({
        type: 'array',
        maxItems: SPANS_MAX,
        items: Span,
        description: 'The steps, in order. If absent, stored steps stay unchanged.',
      }),
    ),
  },
  { $id: 'Trace', description: 'The detailed record of one agent run.' },
);
export type Trace = Static<typeof Trace>;

/** Response of POST /api/public/traces. */
export const TraceAccepted = Type.Object(
  {
    ok: flag({ description: 'Always true: the record is committed.' }),
    id: uuid({ description: 'ID of the stored trace, the same for every submission of this trace_id.' }),
    trace_id: label({ description: 'As sent.' }),
    spans_ingested: count({ description: 'The number of spans in this request.' }),
    tokens: nullable(count({ description: 'Total tokens of the merged trace; null if not reported.' })),
    cost_usd: nullable(
      amount({
        minimum: 0,
        description: 'Cost of the merged trace in US dollars, the number nearest to the exact sum; null if not reported.',
      }),
    ),
  },
  { $id: 'TraceAccepted' },
);
export type TraceAccepted = Static<typeof TraceAccepted>;
