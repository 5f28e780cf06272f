import { type Static, type TProperties, Type } from 'typebox';
import { count, dateTime, flag, label, nullable, oneOf, unboundedText, uuid } from '../contract/scalars.ts';
import { agentOrNone } from './agent-facts.ts';

/** The source of a run: a trace with its steps, or a telemetry event. */
export const RUN_SOURCES = ['trace', 'telemetry'] as const;
export type RunSource = (typeof RUN_SOURCES)[number];

/** An amount of US dollars as an exact decimal, for example `0.0042`. */
export const dollars = (description: string) =>
  Type.Unsafe<string>({ ...unboundedText({ description, examples: ['0.0042'] }), pattern: '^\\d+(\\.\\d+)?$' });

/** Tokens and cost. A value is null if it was neither reported nor computed from reported values (domain/usage.ts). */
export const usage = {
  prompt_tokens: nullable(count({ description: 'Tokens sent to models.' })),
  completion_tokens: nullable(count({ description: 'Tokens that models produced.' })),
  total_tokens: nullable(count({ description: 'Total tokens.' })),
  cost_usd: nullable(dollars('Cost in US dollars, an exact decimal.')),
} satisfies TProperties;

/** The members that traces and telemetry events have in common. */
export const runFacts = {
  trace_id: label({ description: "The run's ID, as its sender gave it." }),
  agent: agentOrNone('The agent that ran; null if none was named.'),
  provisional_agent_name: nullable(
    label({ description: 'A name to show until the agent is known. It does not register an agent.' }),
  ),
  outcome: nullable(
    label({
      description:
        'How it ended. For a trace: success, failure, escalated or blocked. For a trace whose root span is missing: null until 15 ' +
        'minutes after its last span, then `incomplete`. For a telemetry event: any label.',
    }),
  ),
  has_error: flag({ description: 'Whether an error was reported.' }),
  session_id: nullable(label({ description: 'The session that the run belongs to.' })),
  external_user_id: nullable(label({ description: "The sender's own ID of a user." })),
  latency_ms: nullable(count({ description: 'Duration in milliseconds.' })),
  ...usage,
  started_at: nullable(dateTime({ description: 'When it started, according to its sender.' })),
  ended_at: nullable(dateTime({ description: 'When it ended, according to its sender.' })),
  received_at: dateTime({ description: 'When the service first received it.' }),
} satisfies TProperties;

/** A run in the list. `id` identifies a trace. `id` and `ordinal` together identify a telemetry event. */
export const RunSummary = Type.Object({
  source: oneOf(RUN_SOURCES, { description: 'Whether it is a trace or a telemetry event.' }),
  id: uuid({ description: 'ID of the trace, or of the submission that contained the telemetry event.' }),
  ordinal: nullable(count({ description: "The event's index in its submission, from 0; null for a trace." })),
  ...runFacts,
  span_count: nullable(count({ description: 'The number of steps of a trace; null for a telemetry event.' })),
  tool_count: nullable(count({ description: 'The number of tool calls that a telemetry event reports; null for a trace.' })),
  model: nullable(
    label({ description: 'The model that a telemetry event names; null for a trace, because each step has its own.' }),
  ),
});
export type RunSummary = Static<typeof RunSummary>;

/** Sums over the runs of a period. Each trace and each telemetry event is one run. */
export const RunTotals = Type.Object({
  runs: count({ description: 'Traces and telemetry events.' }),
  failures: count({ description: 'Runs with an outcome other than `success`. Unfinished traces are not counted.' }),
  unfinished: count({
    description:
      'Traces whose root span has not arrived, including those with the outcome `incomplete`. They are neither successes nor failures.',
  }),
  errors: count({ description: 'Runs that reported an error.' }),
  total_tokens: count({ description: 'Total tokens of the runs that report them.' }),
  cost_usd: dollars('Cost in US dollars of the runs that report it; an exact decimal.'),
});
export type RunTotals = Static<typeof RunTotals>;
