// Sends one agent run as OTLP/JSON. Reads OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS. Needs no packages.
import { randomBytes } from 'node:crypto';

const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? 'http://127.0.0.1:7300';
const headers = Object.fromEntries(
  (process.env.OTEL_EXPORTER_OTLP_HEADERS ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 0 ? [] : [[pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())]];
  }),
);

const traceId = randomBytes(16).toString('hex');
const rootId = randomBytes(8).toString('hex');
const startedMs = Date.now();

/** Attributes in OTLP's format. */
const attributes = (values) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: value } : { stringValue: value },
  }));

/** A span with its start and end in milliseconds after the start of the run. */
const span = (spanId, parentSpanId, name, [fromMs, toMs], values) => ({
  traceId,
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name,
  kind: 1,
  startTimeUnixNano: `${startedMs + fromMs}000000`,
  endTimeUnixNano: `${startedMs + toMs}000000`,
  attributes: attributes(values),
});

/** A list of one message, as JSON text. */
const messageJson = (role, content) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

const spans = [
  span(rootId, undefined, 'invoke_agent weather-bot', [0, 900], {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather-bot',
    'gen_ai.conversation.id': 'example-session',
  }),
  span(randomBytes(8).toString('hex'), rootId, 'execute_tool weather', [100, 300], {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'weather',
    'gen_ai.tool.call.arguments': '{"city":"Bern"}',
    'gen_ai.tool.call.result': 'rain',
  }),
  span(randomBytes(8).toString('hex'), rootId, 'chat gpt-4o', [300, 900], {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.input.messages': messageJson('user', 'How is the weather in Bern?'),
    'gen_ai.output.messages': messageJson('assistant', 'It rains in Bern.'),
  }),
];

const resource = { attributes: attributes({ 'service.name': 'weather-service' }) };
const response = await fetch(`${endpoint}/v1/traces`, {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'example' }, spans }] }] }),
});
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
console.log(traceId);
