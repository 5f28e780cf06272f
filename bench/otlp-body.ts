import { opentelemetry } from '../packages/core/test/otlp/protobuf/otlp.generated.js';
import { traceBody } from './bodies.ts';
import { ID_PLACEHOLDER } from './load.ts';

interface BenchSpan {
  span_id: string;
  kind: string;
  messages?: { role: string; content: string; tool_calls?: unknown }[];
  tool_arguments?: unknown;
  tool_result?: unknown;
}

const attribute = (key: string, value: string | number) => ({
  key,
  value: typeof value === 'string' ? { stringValue: value } : { intValue: value },
});

/**
 * The run of `traceBody` as an OTLP export in protobuf: 10 GenAI spans with the same message texts, arguments, results and token
 * counts. Costs, outcome, user ID, metadata and the tool calls in messages are left out; times and IDs differ.
 */
export function otlpBody(): Buffer {
  const { spans } = JSON.parse(traceBody()) as { spans: BenchSpan[] };
  // A trace ID has 16 bytes. Each request overwrites the placeholder, which is the first 12 bytes.
  const traceId = Buffer.from(`${ID_PLACEHOLDER}otlp`);
  const records = spans.map((span, index) => ({
    traceId,
    spanId: Buffer.alloc(8, index + 1),
    ...(index > 0 ? { parentSpanId: Buffer.alloc(8, 1) } : {}),
    name: span.kind === 'llm' ? 'chat gpt-4o' : 'execute_tool find_order',
    kind: 3,
    startTimeUnixNano: { low: index * 300, high: 408_000_000, unsigned: true },
    endTimeUnixNano: { low: index * 300 + 280, high: 408_000_000, unsigned: true },
    attributes: attributesOf(span, index),
  }));
  const resource = { attributes: [attribute('service.name', 'support-bot')] };
  const message = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'bench' }, spans: records }] }] };
  return Buffer.from(opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.encode(message).finish());
}

function attributesOf({ kind, messages = [], tool_arguments, tool_result }: BenchSpan, index: number) {
  const rootAttributes =
    index === 0 ? [attribute('gen_ai.agent.name', 'support-bot'), attribute('gen_ai.conversation.id', 's-1')] : [];
  if (kind !== 'llm') {
    return [
      attribute('gen_ai.operation.name', 'execute_tool'),
      attribute('gen_ai.tool.name', 'find_order'),
      attribute('gen_ai.tool.call.id', `call_${index}`),
      attribute('gen_ai.tool.call.arguments', JSON.stringify(tool_arguments)),
      attribute('gen_ai.tool.call.result', JSON.stringify(tool_result)),
    ];
  }
  const otelMessages = messages.map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] }));
  return [
    ...rootAttributes,
    attribute('gen_ai.operation.name', 'chat'),
    attribute('gen_ai.provider.name', 'openai'),
    attribute('gen_ai.request.model', 'gpt-4o'),
    attribute('gen_ai.response.model', 'gpt-4o-2024-08-06'),
    attribute('gen_ai.response.id', `chatcmpl-${index}`),
    attribute('gen_ai.usage.input_tokens', 812 + index),
    attribute('gen_ai.usage.output_tokens', 64),
    attribute('gen_ai.input.messages', JSON.stringify(otelMessages.slice(0, -1))),
    attribute('gen_ai.output.messages', JSON.stringify(otelMessages.slice(-1))),
  ];
}
