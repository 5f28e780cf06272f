import { addToCount, type ExportCounts, tooMany } from './export-counts.ts';
import { DEPTH_MAX, MalformedExportError } from './records.ts';

/** A message type: its message fields by number, and the count that it increases. */
interface Shape {
  readonly counts?: keyof ExportCounts;
  readonly fields: { readonly [field: number]: Shape };
}

const fields: Record<number, Shape> = {};
const anyValue: Shape = { counts: 'values', fields };
const keyValue: Shape = { fields: { 2: anyValue } };
fields[5] = { fields: { 1: anyValue } };
fields[6] = { fields: { 1: keyValue } };

const resource: Shape = { fields: { 1: keyValue } };
const scope: Shape = { fields: { 3: keyValue } };
const event: Shape = { counts: 'records', fields: { 3: keyValue } };
const link: Shape = { counts: 'records', fields: { 4: keyValue } };
const span: Shape = { counts: 'records', fields: { 9: keyValue, 11: event, 13: link, 15: { fields: {} } } };
const logRecord: Shape = { counts: 'records', fields: { 5: anyValue, 6: keyValue } };
const points: Shape = { fields: { 1: { counts: 'records', fields: {} } } };
const metric: Shape = { fields: { 5: points, 7: points, 9: points, 10: points, 11: points } };

const request = (record: Shape): Shape => ({
  fields: { 1: { fields: { 1: resource, 2: { fields: { 1: scope, 2: record } } } } },
});

/** The requests of the three signals, from opentelemetry/proto at v1.9.0. */
const REQUESTS = { traces: request(span), logs: request(logRecord), metrics: request(metric) } as const;
export type Signal = keyof typeof REQUESTS;

/**
 * Checks the wire format of a body and counts its records before it is decoded, because few bytes can become millions of objects.
 * @throws MalformedExportError if the body is not protobuf, is nested too deeply, or contains too many records or values.
 */
export function countProtobuf(signal: Signal, bytes: Uint8Array): ExportCounts {
  const counts: ExportCounts = { records: 0, values: 0 };
  walk(bytes, REQUESTS[signal], { at: 0, end: bytes.length, depth: 0 }, counts);
  return counts;
}

interface Range {
  at: number;
  end: number;
  depth: number;
}

function walk(bytes: Uint8Array, shape: Shape, { at, end, depth }: Range, counts: ExportCounts): void {
  if (depth > DEPTH_MAX) throw malformedError(`the body is nested more deeply than ${DEPTH_MAX} levels; flatten it`, at);
  if (shape.counts !== undefined && !addToCount(counts, shape.counts)) throw malformedError(tooMany(shape.counts), at);
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
      if (fieldShape !== undefined) walk(bytes, fieldShape, { at: cursor.at, end: cursor.at + length, depth: depth + 1 }, counts);
      cursor.at += length;
    } else throw malformedError(`the body is not protobuf of OTLP: wire type ${wireType} is not used`, start);
    if (cursor.at > end) throw malformedError('the body is not protobuf of OTLP: it is cut off', start);
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
  throw malformedError('the body is not protobuf of OTLP: a length is out of range', cursor.at);
}

function skipVarint(bytes: Uint8Array, cursor: { at: number }, end: number): void {
  for (let length = 0; length < 10 && cursor.at < end; length += 1) {
    const byte = bytes[cursor.at]!;
    cursor.at += 1;
    if (byte < 0x80) return;
  }
  throw malformedError('the body is not protobuf of OTLP: a number is out of range', cursor.at);
}

const malformedError = (message: string, at: number): MalformedExportError => new MalformedExportError(message, `byte ${at}`);
