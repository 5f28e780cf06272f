import fc from 'fast-check';

/** A change of a body: a replaced, removed or inserted byte, or a truncated end. */
export interface ByteChange {
  /** Position as a share of the length, from 0 to 1. */
  at: number;
  kind: 'set' | 'drop' | 'add' | 'cut';
  /** The new byte of `set` and `add`. */
  byte: number;
}

/** One to six changes of one body. */
export const byteChanges: fc.Arbitrary<ByteChange[]> = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom('set', 'drop', 'add', 'cut'),
    byte: fc.nat(255),
  }),
  { minLength: 1, maxLength: 6 },
);

/** A copy of the body with these changes, applied in order. */
export function mutatedBytes(body: Uint8Array, changes: readonly ByteChange[]): Uint8Array {
  let bytes = [...body];
  for (const { at, kind, byte } of changes) {
    const index = Math.floor(at * bytes.length);
    if (kind === 'set') bytes[index] = byte;
    else if (kind === 'drop') bytes.splice(index, 1);
    else if (kind === 'add') bytes.splice(index, 0, byte);
    else bytes = bytes.slice(0, Math.max(1, index));
  }
  return Uint8Array.from(bytes);
}

const LEVEL_NAMES = ['resourceSpans', 'scopeSpans', 'spans', 'resourceLogs', 'scopeLogs', 'logRecords', 'resourceMetrics'];
const ATTRIBUTE_NAMES = ['attributes', 'key', 'value', 'stringValue', 'intValue', 'arrayValue', 'kvlistValue', 'values'];
const FIELD_NAMES = [
  'traceId',
  'spanId',
  'startTimeUnixNano',
  'status',
  'events',
  'scopeMetrics',
  'metrics',
  'sum',
  'dataPoints',
];

/** Random JSON in which most member names are names of OTLP. */
export const otlpLikeJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  tree: fc.oneof({ maxDepth: 9 }, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('object')),
  list: fc.array(tie('tree'), { maxLength: 3 }),
  object: fc.dictionary(fc.constantFrom(...LEVEL_NAMES, ...ATTRIBUTE_NAMES, ...FIELD_NAMES), tie('tree'), { maxKeys: 4 }),
})).tree;
