import { countProtobuf } from './protobuf-bounds.ts';
import {
  type Attributes,
  type EventRecord,
  hasRemoteParent,
  type LinkRecord,
  type LogRecord,
  type SpanRecord,
  setAttribute,
  type Value,
} from './records.ts';
import { WireReader } from './wire-reader.ts';

// opentelemetry/proto v1.9.0 defines the tags. A field with another wire type is skipped like an unknown field. Records are read
// without generated code, which would create objects first and is slower (docs/performance.md).

/** The spans of an ExportTraceServiceRequest, in order. Throws MalformedExportError. */
export function readProtobufSpans(bytes: Uint8Array): SpanRecord[] {
  countProtobuf('traces', bytes);
  const records: SpanRecord[] = [];
  const reader = new WireReader(bytes);
  forEachScope(reader, bytes.length, (resource, end) => {
    const scope = scopeName(reader, end);
    forEachRecord(reader, end, (endOfSpan) => records.push(readSpan(reader, endOfSpan, resource, scope)));
  });
  return records;
}

/** The log records of an ExportLogsServiceRequest, in order. Throws MalformedExportError. */
export function readProtobufLogs(bytes: Uint8Array): LogRecord[] {
  countProtobuf('logs', bytes);
  const records: LogRecord[] = [];
  const reader = new WireReader(bytes);
  forEachScope(reader, bytes.length, (resource, end) => {
    forEachRecord(reader, end, (endOfRecord) => records.push(readLogRecord(reader, endOfRecord, resource)));
  });
  return records;
}

/**
 * Visits the scopes of a request. `visit` must read each scope up to its `end`. At that time `resource` may be incomplete, because
 * the resource may follow its scopes in the body.
 */
function forEachScope(reader: WireReader, end: number, visit: (resource: Attributes, end: number) => void): void {
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag !== 0x0a) {
      reader.skip(tag);
      continue;
    }
    const endOfGroup = reader.end();
    const resource: Attributes = new Map();
    while (reader.at < endOfGroup) {
      const groupTag = reader.tag();
      if (groupTag === 0x0a) readResource(reader, reader.end(), resource);
      else if (groupTag === 0x12) visit(resource, reader.end());
      else reader.skip(groupTag);
    }
  }
}

function readResource(reader: WireReader, end: number, resource: Attributes): void {
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) readAttribute(reader, reader.end(), resource);
    else reader.skip(tag);
  }
}

/** Visits the records of a scope. */
function forEachRecord(reader: WireReader, end: number, visit: (end: number) => void): void {
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x12) visit(reader.end());
    else reader.skip(tag);
  }
}

/** The name of a scope, wherever it is in the message. The reader's position does not change. */
function scopeName(reader: WireReader, end: number): string {
  const start = reader.at;
  let name = '';
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag !== 0x0a) {
      reader.skip(tag);
      continue;
    }
    const endOfScope = reader.end();
    while (reader.at < endOfScope) {
      const scopeTag = reader.tag();
      if (scopeTag === 0x0a) name = reader.name();
      else reader.skip(scopeTag);
    }
  }
  reader.at = start;
  return name;
}

function readSpan(reader: WireReader, end: number, resource: Attributes, scope: string): SpanRecord {
  const span: SpanRecord = {
    traceId: '',
    spanId: '',
    parentSpanId: undefined,
    hasRemoteParent: false,
    name: '',
    kind: 0,
    start: undefined,
    end: undefined,
    attributes: new Map(),
    events: [],
    links: [],
    statusCode: 0,
    statusMessage: '',
    resource,
    scope,
  };
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x4a) readAttribute(reader, reader.end(), span.attributes);
    else if (tag === 0x0a) span.traceId = reader.hexId(16);
    else if (tag === 0x12) span.spanId = reader.hexId(8);
    else if (tag === 0x22) span.parentSpanId = reader.hexId(8) || undefined;
    else if (tag === 0x2a) span.name = reader.name();
    else if (tag === 0x30) span.kind = reader.int32();
    else if (tag === 0x39) span.start = reader.nanoseconds();
    else if (tag === 0x41) span.end = reader.nanoseconds();
    else if (tag === 0x5a) span.events.push(readEvent(reader, reader.end()));
    else if (tag === 0x6a) span.links.push(readLink(reader, reader.end()));
    else if (tag === 0x7a) readStatus(reader, reader.end(), span);
    else if (tag === 0x85) span.hasRemoteParent = hasRemoteParent(reader.fixed32());
    else reader.skip(tag);
  }
  return span;
}

function readStatus(reader: WireReader, end: number, span: SpanRecord): void {
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x12) span.statusMessage = reader.text();
    else if (tag === 0x18) span.statusCode = reader.int32();
    else reader.skip(tag);
  }
}

function readEvent(reader: WireReader, end: number): EventRecord {
  const event: EventRecord = { name: '', time: undefined, attributes: new Map() };
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x09) event.time = reader.nanoseconds();
    else if (tag === 0x12) event.name = reader.name();
    else if (tag === 0x1a) readAttribute(reader, reader.end(), event.attributes);
    else reader.skip(tag);
  }
  return event;
}

function readLink(reader: WireReader, end: number): LinkRecord {
  const link: LinkRecord = { traceId: '', spanId: '', attributes: new Map() };
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) link.traceId = reader.hexId(16);
    else if (tag === 0x12) link.spanId = reader.hexId(8);
    else if (tag === 0x22) readAttribute(reader, reader.end(), link.attributes);
    else reader.skip(tag);
  }
  return link;
}

function readLogRecord(reader: WireReader, end: number, resource: Attributes): LogRecord {
  const record: LogRecord = {
    traceId: '',
    spanId: '',
    time: undefined,
    eventName: '',
    body: null,
    attributes: new Map(),
    resource,
  };
  let observed: bigint | undefined;
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x09) record.time = reader.nanoseconds();
    else if (tag === 0x59) observed = reader.nanoseconds();
    else if (tag === 0x2a) record.body = readAnyValue(reader, reader.end(), record.body);
    else if (tag === 0x32) readAttribute(reader, reader.end(), record.attributes);
    else if (tag === 0x4a) record.traceId = reader.hexId(16);
    else if (tag === 0x52) record.spanId = reader.hexId(8);
    else if (tag === 0x62) record.eventName = reader.name();
    else reader.skip(tag);
  }
  record.time ??= observed;
  return record;
}

/** Reads a KeyValue into attributes. */
function readAttribute(reader: WireReader, end: number, attributes: Attributes): void {
  let key = '';
  let value: Value = null;
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) key = reader.name();
    else if (tag === 0x12) value = readAnyValue(reader, reader.end(), value);
    else reader.skip(tag);
  }
  setAttribute(attributes, key, value);
}

/**
 * Reads an AnyValue. Protobuf merges a message that occurs twice: a list is added to an `earlier` list in place, and an object to an
 * `earlier` object. Any other value replaces the earlier one.
 */
function readAnyValue(reader: WireReader, end: number, earlier: Value): Value {
  let value = earlier;
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) value = reader.text();
    else if (tag === 0x18) value = reader.int64();
    else if (tag === 0x10) value = reader.bool();
    else if (tag === 0x21) value = reader.double();
    else if (tag === 0x2a) value = readList(reader, reader.end(), Array.isArray(value) ? value : []);
    else if (tag === 0x32) value = readMembers(reader, reader.end(), value);
    else if (tag === 0x3a) value = reader.base64();
    else reader.skip(tag);
  }
  return value;
}

/** Reads the elements of an ArrayValue into `values`. */
function readList(reader: WireReader, end: number, values: Value[]): Value[] {
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) values.push(readAnyValue(reader, reader.end(), null));
    else reader.skip(tag);
  }
  return values;
}

/** Reads a KeyValueList. Its members are added to the earlier value if it is an object. */
function readMembers(reader: WireReader, end: number, earlier: Value): Value {
  const members: Attributes = new Map();
  while (reader.at < end) {
    const tag = reader.tag();
    if (tag === 0x0a) readAttribute(reader, reader.end(), members);
    else reader.skip(tag);
  }
  if (typeof earlier !== 'object' || earlier === null || Array.isArray(earlier)) return Object.fromEntries(members);
  // An assignment to `__proto__` would not add a member.
  for (const [name, value] of members)
    Object.defineProperty(earlier, name, { value, writable: true, enumerable: true, configurable: true });
  return earlier;
}
