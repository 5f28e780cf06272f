import { opentelemetry } from '../../../core/test/otlp/protobuf/otlp.generated.js';

/** A span in the notation of tests: IDs in hex, times in nanoseconds as text, attributes as plain values. */
export interface TestSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  flags?: number;
  name?: string;
  kind?: number;
  start?: string;
  end?: string;
  attributes?: Record<string, unknown>;
  events?: { name: string; attributes?: Record<string, unknown> }[];
  status?: { code?: number; message?: string };
}

/** An export of spans as OTLP/JSON. */
export const jsonExport = (spans: readonly TestSpan[], resource: Record<string, unknown> = {}) => ({
  resourceSpans: [
    { resource: { attributes: pairs(resource) }, scopeSpans: [{ scope: { name: 'test' }, spans: spans.map(jsonSpan) }] },
  ],
});

/** An export of spans as protobuf. */
export function protobufExport(spans: readonly TestSpan[], resource: Record<string, unknown> = {}): Uint8Array {
  const { resourceSpans } = jsonExport(spans, resource);
  const scopeSpans = [{ scope: { name: 'test' }, spans: resourceSpans[0]!.scopeSpans[0]!.spans.map(protobufSpan) }];
  const message = { resourceSpans: [{ resource: resourceSpans[0]!.resource, scopeSpans }] };
  return opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest.encode(message).finish();
}

/** Attributes in the structure of OTLP/JSON, which the protobuf encoder accepts too. */
export const pairs = (attributes: Record<string, unknown>) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));

function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Number.isInteger(value)) return { intValue: value };
  if (typeof value === 'number') return { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: pairs(value as Record<string, unknown>) } };
}

const jsonSpan = ({ start, end, attributes = {}, events = [], ...span }: TestSpan) => ({
  name: 'step',
  kind: 1,
  ...span,
  startTimeUnixNano: start ?? '1700000000000000000',
  endTimeUnixNano: end ?? '1700000001500000000',
  attributes: pairs(attributes),
  events: events.map((event) => ({ name: event.name, attributes: pairs(event.attributes ?? {}) })),
});

const protobufSpan = (span: ReturnType<typeof jsonSpan>) => ({
  ...span,
  traceId: Buffer.from(span.traceId, 'hex'),
  spanId: Buffer.from(span.spanId, 'hex'),
  ...(span.parentSpanId === undefined ? {} : { parentSpanId: Buffer.from(span.parentSpanId, 'hex') }),
  startTimeUnixNano: toProtobufLong(span.startTimeUnixNano),
  endTimeUnixNano: toProtobufLong(span.endTimeUnixNano),
});

function toProtobufLong(text: string) {
  const value = BigInt(text);
  return { low: Number(BigInt.asIntN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)), unsigned: true };
}

let lastTraceNumber = 0;
/** A new trace ID. */
export const newTrace = (): string => `a${(++lastTraceNumber).toString(16).padStart(31, '0')}`;
/** A span ID made from a number. */
export const id = (number: number): string => `b${number.toString(16).padStart(15, '0')}`;

/** A chat span and its root span. The chat span comes first, because exporters send a span when it ends. */
export const chatRun = (traceId: string): TestSpan[] => [
  {
    traceId,
    spanId: id(2),
    parentSpanId: id(1),
    name: 'chat gpt-4o',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }]),
      'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: 'Hi' }] }]),
      'gen_ai.response.id': 'chatcmpl-1',
    },
  },
  {
    traceId,
    spanId: id(1),
    name: 'invoke_agent support-bot',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'otlp-bot',
      'gen_ai.conversation.id': 'c-1',
    },
  },
];
