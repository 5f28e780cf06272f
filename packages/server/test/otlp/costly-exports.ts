import protobuf from 'protobufjs/minimal.js';
import { id, jsonExport, newTrace } from './exporter.ts';

const wrap = (tag: number, content: Uint8Array): Uint8Array => protobuf.Writer.create().uint32(tag).bytes(content).finish();

/** An export of a span: wraps it in spans, scope_spans and resource_spans. */
const exportOf = (span: Uint8Array): Uint8Array => wrap(0x0a, wrap(0x12, wrap(0x12, span)));

/** An export of a span with nested lists in protobuf, encoded by hand because the encoder does not nest that deeply. */
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
