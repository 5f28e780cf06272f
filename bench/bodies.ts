import { ID_PLACEHOLDER } from './load.ts';

/**
 * Text of this size: a few words in an order that depends on the seed. It compresses better than real text, so rows/disk.ts sends recorded
 * runs instead.
 */
function words(bytes: number, seed: number): string {
  const vocabulary = [
    'order',
    'refund',
    'flight',
    'customer',
    'policy',
    'confirm',
    'please',
    'booking',
    'the',
    'account',
    'thanks',
  ];
  let text = '';
  for (let at = seed; text.length < bytes; at = (at * 48_271 + 11) % 2_147_483_647) text += vocabulary[at % 11] + ' ';
  return text.slice(0, bytes);
}

const time = (milliseconds: number): string => new Date(Date.UTC(2026, 10, 20, 9, 30) + milliseconds).toISOString();

/** A run of 16 KB with 10 spans, alternately model calls and tool calls, with messages, arguments, usage and times. */
export function traceBody(): string {
  const spans = Array.from({ length: 10 }, (_, index) => ({
    span_id: `span-${index}`,
    ...(index > 0 ? { parent_span_id: 'span-0' } : {}),
    name: index % 2 === 0 ? 'plan' : 'find_order',
    started_at: time(index * 300),
    ended_at: time(index * 300 + 280),
    latency_ms: 280,
    ...(index % 2 === 0 ? modelCall(index) : toolCall(index)),
  }));
  return JSON.stringify({
    trace_id: `run-${ID_PLACEHOLDER}`,
    outcome: 'success',
    agent_name: 'support-bot',
    session_id: `session-${ID_PLACEHOLDER}`,
    external_user_id: 'user-4711',
    started_at: time(0),
    ended_at: time(3000),
    latency_ms: 3000,
    metadata: { release: '2026.47', region: 'eu-west-1' },
    spans,
  });
}

const modelCall = (index: number) => ({
  kind: 'llm',
  model: 'gpt-4o',
  provider: 'openai',
  prompt_tokens: 812 + index,
  completion_tokens: 64,
  cost_usd: 0.0042,
  messages: [
    { role: 'system', content: words(420, index + 1) },
    { role: 'user', content: words(400, index + 2) },
    {
      role: 'assistant',
      content: words(540, index + 3),
      tool_calls: [{ id: `call_${index}`, type: 'function', function: { name: 'find_order', arguments: '{"id":7}' } }],
    },
  ],
});

const toolCall = (index: number) => ({
  kind: 'tool',
  tool_arguments: { id: index, filter: { status: ['open', 'shipped'], text: words(160, index + 4) } },
  tool_result: { rows: [{ id: 7, status: 'shipped', notes: words(840, index + 5) }], took_ms: 12.5, more: null },
});

/** 200 telemetry events of 0.5 KB each. */
export function telemetryBody(): string {
  const events = Array.from({ length: EVENTS_PER_BODY }, (_, index) => ({
    trace_id: `run-${ID_PLACEHOLDER}-${index}`,
    outcome: index % 17 === 0 ? 'failure' : 'success',
    status: 'completed',
    agent_name: `agent-${index % 5}`,
    model: 'gpt-4o',
    provider: 'openai',
    session_id: `session-${index % 20}`,
    external_user_id: `user-${index}`,
    latency_ms: 800 + index,
    tool_count: index % 4,
    prompt_tokens: 300 + index,
    completion_tokens: 40,
    cost_usd: 0.0021,
    started_at: time(index * 1000),
    ended_at: time(index * 1000 + 800),
    output: words(100, index + 1),
    metadata: { release: '2026.47' },
  }));
  return JSON.stringify({ events });
}

/** The number of events in a telemetry body. */
export const EVENTS_PER_BODY = 200;

/** An entry for the ledger, 300 to 400 bytes. */
export const auditBody = (): string =>
  JSON.stringify({
    actor: 'ci:deploy-prod',
    action: 'agent.promoted',
    subject: 'support-bot',
    rationale: 'Nightly regression passed; release 2026.47 approved by the pipeline',
    framework: 'EU AI Act',
    trace_id: `run-${ID_PLACEHOLDER}`,
    retention_until: '2033-12-31',
    metadata: { release: '2026.47', pipeline: `https://ci.example.com/runs/${ID_PLACEHOLDER}`, attempt: 1, cost_usd: 0.0042 },
  });

/** Two promotion checks: the first gives an allowed decision, the second a blocked one. */
export const checkBodies = (): string[] => [PASSING_AGENT, FAILING_AGENT].map((agent_name) => JSON.stringify({ agent_name }));

/** The agent whose promotion checks give an allowed decision. */
export const PASSING_AGENT = 'careful-bot';
const FAILING_AGENT = 'hasty-bot';

/** The evaluations that the decisions of `checkBodies` are based on. */
export const evaluationBodies = (): string[] => [
  JSON.stringify({ name: 'nightly-regression', agent_name: PASSING_AGENT, status: 'passing', pass_rate: 92.5 }),
  JSON.stringify({ name: 'nightly-regression', agent_name: FAILING_AGENT, status: 'passing', pass_rate: 42 }),
];
