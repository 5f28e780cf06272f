import { addToCount, type ExportCounts, tooManyMessage, zeroCounts } from './export-counts.ts';
import {
  type Attributes,
  hasRemoteParent,
  type LogRecord,
  MalformedExportError,
  type SpanRecord,
  setAttribute,
  type Value,
} from './records.ts';

type Json = Record<string, unknown>;

/**
 * The spans of a parsed OTLP/JSON body, in order. Unknown members are ignored. Throws MalformedExportError.
 * @param counts the counts so far. The counts of this body are added to them.
 */
export function readJsonSpans(body: unknown, counts = zeroCounts()): SpanRecord[] {
  const records: SpanRecord[] = [];
  forEachRecord(body, { members: ['resourceSpans', 'scopeSpans', 'spans'], counts }, (span, context) => {
    countRecord(counts, context.at);
    records.push(spanRecord(span, context));
  });
  return records;
}

/** The log records of a parsed OTLP/JSON body, in order. Unknown members, errors and `counts` are handled as in `readJsonSpans`. */
export function readJsonLogs(body: unknown, counts = zeroCounts()): LogRecord[] {
  const records: LogRecord[] = [];
  forEachRecord(body, { members: ['resourceLogs', 'scopeLogs', 'logRecords'], counts }, (record, { at, resource }) => {
    countRecord(counts, at);
    records.push({
      traceId: hexId(record.traceId, 32),
      spanId: hexId(record.spanId, 16),
      time:
        nanoseconds(record.timeUnixNano, `${at}/timeUnixNano`) ??
        nanoseconds(record.observedTimeUnixNano, `${at}/observedTimeUnixNano`),
      eventName: text(record.eventName, `${at}/eventName`),
      body: isSet(record.body) ? countedValueOf(record.body, `${at}/body`, counts) : null,
      attributes: attributesOf(record.attributes, `${at}/attributes`, counts),
      resource,
    });
  });
  return records;
}

/** The number of data points in a parsed OTLP/JSON body. Throws MalformedExportError. */
export function countJsonPoints(body: unknown): number {
  const counts = zeroCounts();
  forEachRecord(body, { members: ['resourceMetrics', 'scopeMetrics', 'metrics'], counts }, (metric, { at }) => {
    for (const name of ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary']) {
      const data = (metric[name] as Json | null | undefined)?.dataPoints;
      if (Array.isArray(data)) countRecord(counts, at, data.length);
    }
  });
  return counts.records;
}

/** The position of a record in its body, its resource and scope, and the counts of the whole body so far. */
interface RecordContext {
  /** A JSON Pointer. */
  at: string;
  resource: Attributes;
  /** Name of the instrumentation scope. */
  scope: string;
  counts: ExportCounts;
}

/** Visits each record of a body. `members` are the names of the nested lists: groups by resource, groups by scope, records. */
function forEachRecord(
  body: unknown,
  { members: [ofResource, ofScope, ofRecord], counts }: { members: [string, string, string]; counts: ExportCounts },
  visit: (record: Json, context: RecordContext) => void,
): void {
  const groups = listOf(objectOf(body, ''), ofResource, '');
  for (const [group, at] of groups) {
    const { attributes } = objectOf(group.resource ?? {}, `${at}/resource`);
    const resource = attributesOf(attributes, `${at}/resource/attributes`, counts);
    for (const [inScope, atScope] of listOf(group, ofScope, at)) {
      const scopeMembers = objectOf(inScope.scope ?? {}, `${atScope}/scope`);
      const scope = text(scopeMembers.name, `${atScope}/scope/name`);
      // No record contains the attributes of its scope. They are read only to count them, as the reader of protobuf does.
      attributesOf(scopeMembers.attributes, `${atScope}/scope/attributes`, counts);
      for (const [record, atRecord] of listOf(inScope, ofRecord, atScope))
        visit(record, { at: atRecord, resource, scope, counts });
    }
  }
}

function countRecord(counts: ExportCounts, at: string, number = 1): void {
  if (!addToCount(counts, 'records', number)) throw new MalformedExportError(tooManyMessage('records'), at);
}

function countValue(counts: ExportCounts, at: string): void {
  if (!addToCount(counts, 'values')) throw new MalformedExportError(tooManyMessage('values'), at);
}

function spanRecord(span: Json, { at, resource, scope, counts }: RecordContext): SpanRecord {
  const status = objectOf(span.status ?? {}, `${at}/status`);
  return {
    traceId: hexId(span.traceId, 32),
    spanId: hexId(span.spanId, 16),
    parentSpanId: hexId(span.parentSpanId, 16) || undefined,
    hasRemoteParent: hasRemoteParent(flagsOf(span.flags)),
    name: text(span.name, `${at}/name`),
    kind: enumeration(span.kind, SPAN_KINDS, `${at}/kind`),
    start: nanoseconds(span.startTimeUnixNano, `${at}/startTimeUnixNano`),
    end: nanoseconds(span.endTimeUnixNano, `${at}/endTimeUnixNano`),
    attributes: attributesOf(span.attributes, `${at}/attributes`, counts),
    events: listOf(span, 'events', at).map(([event, place]) => {
      countRecord(counts, place);
      return {
        name: text(event.name, `${place}/name`),
        time: nanoseconds(event.timeUnixNano, `${place}/timeUnixNano`),
        attributes: attributesOf(event.attributes, `${place}/attributes`, counts),
      };
    }),
    links: listOf(span, 'links', at).map(([link, place]) => {
      countRecord(counts, place);
      return {
        traceId: hexId(link.traceId, 32),
        spanId: hexId(link.spanId, 16),
        attributes: attributesOf(link.attributes, `${place}/attributes`, counts),
      };
    }),
    statusCode: enumeration(status.code, STATUS_CODES, `${at}/status/code`),
    statusMessage: text(status.message, `${at}/status/message`),
    resource,
    scope,
  };
}

function attributesOf(pairs: unknown, at: string, counts: ExportCounts): Attributes {
  const attributes: Attributes = new Map();
  for (const [pair, place] of listOf({ pairs }, 'pairs', at)) {
    countValue(counts, place);
    setAttribute(attributes, text(pair.key, `${place}/key`), anyValueOf(pair.value, `${place}/value`, counts));
  }
  return attributes;
}

/** Whether a member has a value. In the JSON form of protobuf, null means the same as absent. */
const isSet = (value: unknown): value is NonNullable<unknown> => value !== undefined && value !== null;

/** The value of an AnyValue. The depth of the body was limited when it was parsed. */
function anyValueOf(value: unknown, at: string, counts: ExportCounts): Value {
  if (value === undefined || value === null) return null;
  const any = objectOf(value, at);
  if (isSet(any.stringValue)) return text(any.stringValue, `${at}/stringValue`);
  if (isSet(any.boolValue)) return boolean(any.boolValue, `${at}/boolValue`);
  if (isSet(any.intValue)) return wholeNumber(any.intValue, `${at}/intValue`);
  if (isSet(any.doubleValue)) return doubleOf(any.doubleValue, `${at}/doubleValue`);
  if (isSet(any.bytesValue)) return text(any.bytesValue, `${at}/bytesValue`);
  if (isSet(any.arrayValue)) {
    const values = objectOf(any.arrayValue, `${at}/arrayValue`).values ?? [];
    if (!Array.isArray(values)) throw malformedError('must be an array', `${at}/arrayValue/values`);
    return values.map((each, index) => countedValueOf(each, `${at}/arrayValue/values/${index}`, counts));
  }
  if (!isSet(any.kvlistValue)) return null;
  const list = objectOf(any.kvlistValue, `${at}/kvlistValue`);
  return Object.fromEntries(attributesOf(list.values, `${at}/kvlistValue/values`, counts));
}

/**
 * Counts and reads an AnyValue in a list, or the body of a log record. The value of an attribute is not counted, because the attribute is
 * counted.
 */
function countedValueOf(value: unknown, at: string, counts: ExportCounts): Value {
  countValue(counts, at);
  return anyValueOf(value, at, counts);
}

function listOf(parent: Json, name: string, at: string): [Json, string][] {
  const list = parent[name] ?? [];
  const pointer = name === 'pairs' ? at : `${at}/${name}`;
  if (!Array.isArray(list)) throw malformedError('must be an array', pointer);
  return list.map((each, index) => [objectOf(each, `${pointer}/${index}`), `${pointer}/${index}`]);
}

function objectOf(value: unknown, at: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformedError('must be an object', at);
  return value as Json;
}

function text(value: unknown, at: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw malformedError('must be a string', at);
  return value.toWellFormed();
}

/** Flags as a number; 0 if the value is neither a number nor a string. */
const flagsOf = (value: unknown): number => (typeof value === 'number' || typeof value === 'string' ? Number(value) : 0);

function boolean(value: unknown, at: string): boolean {
  if (typeof value !== 'boolean') throw malformedError('must be a boolean', at);
  return value;
}

/** The names of the enumerations. The index of a name is its number. */
const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map((name) => `SPAN_KIND_${name}`);
const STATUS_CODES = ['UNSET', 'OK', 'ERROR'].map((name) => `STATUS_CODE_${name}`);

/** The number of a value of an enumeration; 0 if it is absent. OTLP allows only numbers; the JSON form of protobuf also allows names. */
function enumeration(value: unknown, names: readonly string[], at: string): number {
  if (!isSet(value)) return 0;
  if (Number.isInteger(value)) return value as number;
  const number = names.indexOf(value as string);
  if (number === -1) throw malformedError('must be a number or a name of the enumeration', at);
  return number;
}

/** The characters of decimal numbers. The JSON form of protobuf allows a fraction of zeros and an exponent, but no hexadecimal digits. */
const DECIMAL = /^[-+\d.e]+$/i;

/** A whole number of 64 bits; as text if it is not a safe integer. */
function wholeNumber(value: unknown, at: string): number | string {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && DECIMAL.test(value));
  if (isNumeric && Number.isSafeInteger(Number(value))) return Number(value);
  const digits = isNumeric && /^-?\d{1,19}$/.test(String(value)) ? String(value) : undefined;
  if (digits !== undefined && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits)) return digits;
  throw malformedError('must be a whole number of 64 bits, as a string or a number', at);
}

/** How the JSON form of protobuf writes the doubles that are not finite. */
const NOT_FINITE: readonly unknown[] = ['NaN', 'Infinity', '-Infinity'];

/** A finite number, or the text of a double that is not finite. A JSON number can be too large for a double. */
function doubleOf(value: unknown, at: string): number | string {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && DECIMAL.test(value));
  if (isNumeric && Number.isFinite(Number(value))) return Number(value);
  if (typeof value === 'number' || NOT_FINITE.includes(value)) return String(value);
  throw malformedError('must be a number or one of the strings NaN, Infinity and -Infinity', at);
}

/** A time in nanoseconds; undefined if it is absent, empty or 0, which means that no time was sent. */
function nanoseconds(value: unknown, at: string): bigint | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const isScalar = typeof value === 'string' || typeof value === 'number';
  if (!isScalar || !/^\d{1,20}$/.test(String(value)))
    throw malformedError('must be nanoseconds since 1970, as a string or a number', at);
  return BigInt.asUintN(64, BigInt(value)) || undefined;
}

/** An ID in lower-case hex; empty if it has another length, is not hex, or is all zeros. */
function hexId(value: unknown, length: number): string {
  if (typeof value !== 'string' || value.length !== length || !/^[0-9a-f]+$/i.test(value) || /^0+$/.test(value)) return '';
  return value.toLowerCase();
}

const malformedError = (message: string, at: string): MalformedExportError =>
  new MalformedExportError(at === '' ? `the body ${message}` : `${at} ${message}`, at);
