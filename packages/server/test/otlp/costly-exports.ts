import protobuf from 'protobufjs/minimal.js';
import { id, jsonExport, newTrace } from './test-exports.ts';

const wrap = (tag: number, content: Uint8Array): Uint8Array => protobuf.Writer.create().uint32(tag).bytes(content).finish();

/** Makes an export of an encoded span: wraps the span in `spans`, `scope_spans` and `resource_spans`. */
const exportOf = (span: Uint8Array): Uint8Array => wrap(0x0a, wrap(0x12, wrap(0x12, span)));

/** An export of a span with nested lists in protobuf, encoded by hand because the encoder has a lower nesting limit. */
export function deepProtobufAttribute(levels: number): Uint8Array {
  let value = protobuf.Writer.create().uint32(24).int32(1).finish();
  for (let level = 0; level < levels; level += 1) value = wrap(0x2a, wrap(0x0a, value));
  return exportOf(wrap(0x4a, wrap(0x12, value)));
}

/** An export of a span with nested lists, as JSON text. */
export function deepJsonAttribute(levels: number): string {
  const body = jsonExport([{ traceId: newTrace(), spanId: id(1), attributes: { deep: 'HERE' } }]);
  const value = `${'{"arrayValue":{"values":['.repeat(levels)}{"intValue":1}${']}}'.repeat(levels)}`;
  return JSON.stringify(body).replace('{"stringValue":"HERE"}', value);
}

/** An export of a span with 600,000 empty attributes of four bytes each, in protobuf. */
export function manyAttributes(): Uint8Array {
  const attribute = Buffer.from([0x4a, 0x02, 0x12, 0x00]);
  return exportOf(Buffer.alloc(600_000 * attribute.length, attribute));
}

/** Encodes KeyValues that have different names of four characters and no value. The bytes `before` precede each name. */
function keysOnly(count: number, ...before: number[]): Uint8Array {
  const size = before.length + 4;
  const bytes = Buffer.alloc(count * size);
  for (let index = 0; index < count; index += 1) {
    bytes.set(before, index * size);
    bytes.write(index.toString(36).padStart(4, '0'), index * size + before.length, 'latin1');
  }
  return bytes;
}

/** An export of a span with 600,000 attributes that have different names and no value, in protobuf. */
export const manyNames = (): Uint8Array => exportOf(keysOnly(600_000, 0x4a, 0x06, 0x0a, 0x04));

/** An export of a span with a list of 64,000 elements, followed by empty lists that protobuf merges into it. */
export const repeatedLists = (repetitions: number): Uint8Array =>
  withRepetitions(0x2a, Buffer.alloc(64_000 * 2, Buffer.from([0x0a, 0x00])), repetitions);

/** An export of a span with an object of 16,000 members, followed by empty objects that protobuf merges into it. */
export const repeatedObjects = (repetitions: number): Uint8Array =>
  withRepetitions(0x32, keysOnly(16_000, 0x0a, 0x06, 0x0a, 0x04), repetitions);

function withRepetitions(tag: number, content: Uint8Array, repetitions: number): Uint8Array {
  const value = Buffer.concat([wrap(tag, content), Buffer.alloc(repetitions * 2, Buffer.from([tag, 0x00]))]);
  return exportOf(wrap(0x4a, wrap(0x12, value)));
}

/** An export of traces with one span each, 30 bytes per trace, in protobuf. */
export function manyTraces(traceCount: number): Uint8Array {
  const span = Buffer.from([0x12, 28, 0x0a, 16, ...Buffer.alloc(16, 7), 0x12, 8, ...Buffer.alloc(8, 7)]);
  const spans = Buffer.alloc(traceCount * span.length, span);
  for (let index = 0; index < traceCount; index += 1) spans.writeUInt32BE(index, index * span.length + 4);
  return wrap(0x0a, wrap(0x12, spans));
}

/** An export of one trace with many spans. Their scope has a long name, and each step of the mapped run contains a copy of this name. */
export function copiedScope(nameLength: number, spanCount: number): object {
  const traceId = newTrace();
  const spans = Array.from({ length: spanCount }, (_, index) => ({ traceId, spanId: id(index + 1) }));
  return { resourceSpans: [{ scopeSpans: [{ scope: { name: 'x'.repeat(nameLength) }, spans }] }] };
}

/** An export of traces with one span each. Their resource has a long attribute, and each mapped run contains a copy of this attribute. */
export const copiedResource = (attributeLength: number, traceCount: number): object =>
  jsonExport(
    Array.from({ length: traceCount }, () => ({ traceId: newTrace(), spanId: id(1) })),
    { long: 'x'.repeat(attributeLength) },
  );
