import { addToCount, type ExportCounts, tooManyMessage, zeroCounts } from './export-counts.ts';
import { DEPTH_MAX, MalformedExportError } from './records.ts';

/** A message type: its message fields by number, and the count that it increases. */
interface Shape {
  readonly count: keyof ExportCounts | undefined;
  /** Whether an encoder writes at most one message field. Each further message field counts as a value. */
  readonly hasOneMessage: boolean;
  readonly fields: Fields;
}
type Fields = { readonly [field: number]: Shape };

/** All shapes have the same members in the same order, so that V8 reads them without a lookup. */
const plain = (fields: Fields): Shape => ({ count: undefined, hasOneMessage: false, fields });
const record = (fields: Fields): Shape => ({ count: 'records', hasOneMessage: false, fields });

const anyValueFields: Record<number, Shape> = {};
/** The AnyValue of an attribute. It is not counted. The attribute is counted, even if it has no value. */
const attributeValue: Shape = { count: undefined, hasOneMessage: true, fields: anyValueFields };
/** An AnyValue in a list, or the body of a log record. */
const countedValue: Shape = { count: 'values', hasOneMessage: true, fields: anyValueFields };
const keyValue: Shape = { count: 'values', hasOneMessage: true, fields: { 2: attributeValue } };
anyValueFields[5] = plain({ 1: countedValue });
anyValueFields[6] = plain({ 1: keyValue });

const resource = plain({ 1: keyValue });
const scope = plain({ 3: keyValue });
const event = record({ 3: keyValue });
const link = record({ 4: keyValue });
const span = record({ 9: keyValue, 11: event, 13: link, 15: plain({}) });
const logRecord = record({ 5: countedValue, 6: keyValue });
const points = plain({ 1: record({}) });
const metric = plain({ 5: points, 7: points, 9: points, 10: points, 11: points });

const request = (records: Shape): Shape => plain({ 1: plain({ 1: resource, 2: plain({ 1: scope, 2: records }) }) });

/** The requests of the three signals, from opentelemetry/proto at v1.9.0. */
const REQUESTS = { traces: request(span), logs: request(logRecord), metrics: request(metric) } as const;
export type Signal = keyof typeof REQUESTS;

/**
 * Checks the wire format of a body, and counts its records and values. This happens before decoding, because few bytes can become millions
 * of objects.
 * @param counts the counts so far. The counts of this body are added to them.
 * @returns `counts`.
 * @throws MalformedExportError if the body is not protobuf, is nested too deeply, or contains too many records or values.
 */
export function countProtobuf(signal: Signal, bytes: Uint8Array, counts = zeroCounts()): ExportCounts {
  walk(bytes, REQUESTS[signal], { at: 0, end: bytes.length, depth: 0 }, counts);
  return counts;
}

/** The bytes of a message, from `at` (included) to `end` (excluded), and its depth. */
interface Range {
  at: number;
  end: number;
  depth: number;
}

function walk(bytes: Uint8Array, shape: Shape, { at, end, depth }: Range, counts: ExportCounts): void {
  if (depth > DEPTH_MAX) throw malformedError(`the body is nested more deeply than ${DEPTH_MAX} levels; flatten it`, at);
  if (shape.count !== undefined && !addToCount(counts, shape.count)) throw malformedError(tooManyMessage(shape.count), at);
  let hasMessage = false;
  const cursor = { at };
  while (cursor.at < end) {
    const start = cursor.at;
    const tag = readVarint(bytes, cursor, end);
    const field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (field === 0) throw malformedError('the body is not protobuf of OTLP: a field has the number 0', start);
    if (wireType === 0) skipVarint(bytes, cursor, end);
    else if (wireType === 1) cursor.at += 8;
    else if (wireType === 5) cursor.at += 4;
    else if (wireType === 2) {
      const length = readVarint(bytes, cursor, end);
      const fieldShape = shape.fields[field];
      if (cursor.at + length > end) throw malformedError('the body is not protobuf of OTLP: it is cut off', start);
      if (fieldShape !== undefined) {
        if (hasMessage && shape.hasOneMessage && !addToCount(counts, 'values'))
          throw malformedError(tooManyMessage('values'), start);
        hasMessage = true;
        walk(bytes, fieldShape, { at: cursor.at, end: cursor.at + length, depth: depth + 1 }, counts);
      }
      cursor.at += length;
    } else throw malformedError(`the body is not protobuf of OTLP: wire type ${wireType} is not used`, start);
    if (cursor.at > end) throw malformedError('the body is not protobuf of OTLP: it is cut off', start);
  }
}

/**
 * Visits each text value of a body: values of attributes, elements of lists, members of objects, and bodies of log records.
 * @param bytes a body that `countProtobuf` has accepted.
 * @param visit gets the start and the end of the bytes of a text.
 */
export const forEachText = (signal: Signal, bytes: Uint8Array, visit: (start: number, end: number) => void): void =>
  visitTexts(bytes, REQUESTS[signal], { at: 0, end: bytes.length }, visit);

/** The field of an AnyValue that contains a text. */
const TEXT_FIELD = 1;

function visitTexts(
  bytes: Uint8Array,
  { fields }: Shape,
  { at, end }: Omit<Range, 'depth'>,
  visit: (start: number, end: number) => void,
): void {
  const cursor = { at };
  while (cursor.at < end) {
    const tag = readVarint(bytes, cursor, end);
    const field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === 0) skipVarint(bytes, cursor, end);
    else if (wireType !== 2) cursor.at += wireType === 1 ? 8 : 4;
    else {
      const length = readVarint(bytes, cursor, end);
      const start = cursor.at;
      cursor.at += length;
      if (fields === anyValueFields && field === TEXT_FIELD) visit(start, cursor.at);
      else if (fields[field] !== undefined) visitTexts(bytes, fields[field], { at: start, end: cursor.at }, visit);
    }
  }
}

/** Reads a varint of at most five bytes, the limit for tags and lengths. */
function readVarint(bytes: Uint8Array, cursor: { at: number }, end: number): number {
  let value = 0;
  for (let digit = 1; digit < 2 ** 35; digit *= 128) {
    if (cursor.at >= end) break;
    const byte = bytes[cursor.at]!;
    cursor.at += 1;
    value += (byte & 0x7f) * digit;
    if (byte < 0x80) return value;
  }
  throw malformedError('the body is not protobuf of OTLP: a tag or length is cut off or too long', cursor.at);
}

function skipVarint(bytes: Uint8Array, cursor: { at: number }, end: number): void {
  for (let length = 0; length < 10 && cursor.at < end; length += 1) {
    const byte = bytes[cursor.at]!;
    cursor.at += 1;
    if (byte < 0x80) return;
  }
  throw malformedError('the body is not protobuf of OTLP: a number is cut off or too long', cursor.at);
}

const malformedError = (message: string, at: number): MalformedExportError => new MalformedExportError(message, `byte ${at}`);
