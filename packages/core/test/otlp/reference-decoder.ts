import { type Attributes, hasRemoteParent, type LogRecord, type SpanRecord, type Value } from '../../src/otlp/records.ts';
import { type AnyValue, type Int64, type KeyValue, opentelemetry, type Span } from './protobuf/otlp.generated.js';

const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;
const { ExportLogsServiceRequest } = opentelemetry.proto.collector.logs.v1;

/** The spans of an ExportTraceServiceRequest, in order, read by generated code of protobufjs. */
export function decodeSpans(bytes: Uint8Array): SpanRecord[] {
  const records: SpanRecord[] = [];
  for (const { resource, scopeSpans } of ExportTraceServiceRequest.decode(bytes).resourceSpans ?? []) {
    const resourceAttributes = attributesOf(resource?.attributes);
    for (const { scope, spans } of scopeSpans ?? [])
      for (const span of spans ?? []) records.push(spanRecord(span, resourceAttributes, scope?.name ?? ''));
  }
  return records;
}

/** The log records of an ExportLogsServiceRequest, in order, read by generated code of protobufjs. */
export function decodeLogs(bytes: Uint8Array): LogRecord[] {
  const records: LogRecord[] = [];
  for (const { resource, scopeLogs } of ExportLogsServiceRequest.decode(bytes).resourceLogs ?? []) {
    const resourceAttributes = attributesOf(resource?.attributes);
    for (const { logRecords } of scopeLogs ?? [])
      for (const record of logRecords ?? []) {
        records.push({
          traceId: hexId(record.traceId, 16),
          spanId: hexId(record.spanId, 8),
          time: nanoseconds(record.timeUnixNano) ?? nanoseconds(record.observedTimeUnixNano),
          eventName: record.eventName ?? '',
          body: anyValueOf(record.body),
          attributes: attributesOf(record.attributes),
          resource: resourceAttributes,
        });
      }
  }
  return records;
}

const spanRecord = (span: Span, resource: Attributes, scope: string): SpanRecord => ({
  traceId: hexId(span.traceId, 16),
  spanId: hexId(span.spanId, 8),
  parentSpanId: hexId(span.parentSpanId, 8) || undefined,
  hasRemoteParent: hasRemoteParent(span.flags ?? 0),
  name: span.name ?? '',
  kind: span.kind ?? 0,
  start: nanoseconds(span.startTimeUnixNano),
  end: nanoseconds(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
  events: (span.events ?? []).map((event) => ({
    name: event.name ?? '',
    time: nanoseconds(event.timeUnixNano),
    attributes: attributesOf(event.attributes),
  })),
  links: (span.links ?? []).map((link) => ({
    traceId: hexId(link.traceId, 16),
    spanId: hexId(link.spanId, 8),
    attributes: attributesOf(link.attributes),
  })),
  statusCode: span.status?.code ?? 0,
  statusMessage: span.status?.message ?? '',
  resource,
  scope,
});

function attributesOf(pairs: readonly KeyValue[] | undefined): Attributes {
  const attributes: Attributes = new Map();
  for (const { key, value } of pairs ?? []) attributes.set(key ?? '', anyValueOf(value));
  return attributes;
}

function anyValueOf(value: AnyValue | null | undefined): Value {
  switch (value?.value) {
    case 'stringValue':
      return value.stringValue ?? '';
    case 'boolValue':
      return value.boolValue ?? false;
    case 'intValue':
      return wholeNumber(value.intValue!);
    case 'doubleValue':
      return Number.isFinite(value.doubleValue) ? value.doubleValue! : String(value.doubleValue);
    case 'arrayValue':
      return (value.arrayValue?.values ?? []).map(anyValueOf);
    case 'kvlistValue':
      return Object.fromEntries(attributesOf(value.kvlistValue?.values ?? []));
    case 'bytesValue':
      return Buffer.from(value.bytesValue ?? []).toString('base64');
    default:
      return null;
  }
}

const TWO_TO_32 = 2 ** 32;

function wholeNumber({ low, high }: Int64): number | string {
  const number = high * TWO_TO_32 + (low >>> 0);
  return Number.isSafeInteger(number) ? number : String((BigInt(high) << 32n) | BigInt(low >>> 0));
}

/** A time in nanoseconds; undefined if it is absent or 0, which means that no time was sent. */
function nanoseconds(time: Int64 | undefined): bigint | undefined {
  if (time === undefined || (time.low === 0 && time.high === 0)) return undefined;
  return (BigInt(time.high >>> 0) << 32n) | BigInt(time.low >>> 0);
}

/** An ID in lower-case hex; empty if it is absent, has another length or is all zeros. */
const hexId = (bytes: Uint8Array | undefined, length: number): string =>
  bytes === undefined || bytes.length !== length || bytes.every((byte) => byte === 0) ? '' : Buffer.from(bytes).toString('hex');
