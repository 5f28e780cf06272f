import type { TelemetryEvent } from '@countersign/core/contract/telemetry';
import type { Trace } from '@countersign/core/contract/trace';

/** The agent of the tour. All data in this file is invented; a team's own systems would send such data. */
export const AGENT = 'support-bot';

const model = { model: 'example-model', provider: 'example-provider' };

/** A successful run: four steps, two of them model calls. */
export const answeredRun: Trace = {
  trace_id: 'run-0001',
  agent_name: AGENT,
  outcome: 'success',
  detail: 'Customer asks where the order is.',
  spans: [
    {
      span_id: 's1',
      kind: 'guardrail',
      name: 'no personal data',
      input: 'Where is order A-1009?',
      output: 'clean',
      latency_ms: 4,
    },
    {
      span_id: 's2',
      kind: 'llm',
      name: 'plan',
      ...model,
      prompt_tokens: 812,
      completion_tokens: 64,
      cost_usd: 0.1,
      messages: [
        { role: 'system', content: 'You help customers of a shop.' },
        { role: 'user', content: 'Where is order A-1009?' },
      ],
    },
    {
      span_id: 's3',
      parent_span_id: 's2',
      kind: 'tool',
      name: 'find_order',
      tool_arguments: { order: 'A-1009' },
      tool_result: { state: 'shipped', carrier: 'rail' },
      latency_ms: 61,
    },
    {
      span_id: 's4',
      kind: 'llm',
      name: 'answer',
      ...model,
      prompt_tokens: 901,
      completion_tokens: 38,
      cost_usd: 0.2,
      output: 'It was shipped and travels by rail.',
    },
  ],
};

/** An escalated run: the tool rejected the call, and a person had to take over. */
export const escalatedRun: Trace = {
  trace_id: 'run-0002',
  agent_name: AGENT,
  outcome: 'escalated',
  detail: 'Customer wants a refund that is too high for the agent.',
  spans: [
    { span_id: 's1', kind: 'llm', name: 'plan', ...model, prompt_tokens: 790, completion_tokens: 51, cost_usd: 0.1 },
    {
      span_id: 's2',
      parent_span_id: 's1',
      kind: 'tool',
      name: 'refund',
      status: 'failure',
      tool_arguments: { order: 'A-1010', amount_usd: 900 },
      error: 'the amount is above the limit of this agent',
    },
  ],
};

/** Summaries of runs without recorded steps. */
export const summaries: TelemetryEvent[] = [
  { trace_id: 'run-0003', agent_name: AGENT, outcome: 'success', tool_count: 1, latency_ms: 840, total_tokens: 1020 },
  { trace_id: 'run-0004', agent_name: AGENT, outcome: 'success', tool_count: 2, latency_ms: 1310, total_tokens: 1877 },
  { trace_id: 'run-0005', agent_name: AGENT, outcome: 'failure', tool_count: 1, error: 'the shop did not answer' },
];

/** A trace on one line. */
export const traceLine = ({ trace_id, outcome, spans }: Trace): string =>
  `{ "trace_id": "${trace_id}", "outcome": "${outcome}", ${spans?.length} spans: ${spans?.map(({ kind, name }) => `${kind} ${name}`).join(', ')} }`;
