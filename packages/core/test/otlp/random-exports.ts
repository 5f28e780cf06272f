import fc from 'fast-check';

const name = fc.oneof(fc.string({ maxLength: 70 }), fc.constantFrom('', '__proto__', 'gen_ai.operation.name', 'a'));
const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 100 }), fc.constant('\ufeffwith a mark\ufffd'));
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.record({ low: int32, high: int32, unsigned: fc.constant(false) });
const smallInt64 = fc.nat(2 ** 31 - 1).map((low) => ({ low, high: 0, unsigned: false }));
const time = fc.record({ low: int32, high: int32, unsigned: fc.constant(true) });
const idBytes = (length: number) =>
  fc.oneof(
    { arbitrary: fc.uint8Array({ minLength: length, maxLength: length }), weight: 5 },
    fc.uint8Array({ maxLength: 20 }),
    fc.constant(new Uint8Array(length)),
  );

const { anyValue, keyValue } = fc.letrec((tie) => ({
  anyValue: fc.oneof(
    { maxDepth: 4 },
    fc.record({ stringValue: text }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({ intValue: fc.oneof(int64, smallInt64) }),
    fc.record({ doubleValue: fc.double() }),
    fc.record({ bytesValue: fc.uint8Array({ maxLength: 40 }) }),
    fc.constant({}),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie('anyValue'), { maxLength: 3 }) }) }),
    fc.record({ kvlistValue: fc.record({ values: fc.array(tie('keyValue'), { maxLength: 3 }) }) }),
  ),
  keyValue: fc.record({ key: name, value: tie('anyValue') }, { requiredKeys: [] }),
}));
const attributes = fc.array(keyValue, { maxLength: 5 });
const upToTwo = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(arbitrary, { maxLength: 2 });

const span = fc.record(
  {
    traceId: idBytes(16),
    spanId: idBytes(8),
    parentSpanId: idBytes(8),
    traceState: text,
    flags: fc.nat(2 ** 32 - 1),
    name,
    kind: int32,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes,
    droppedAttributesCount: fc.nat(),
    events: upToTwo(fc.record({ timeUnixNano: time, name, attributes }, { requiredKeys: [] })),
    links: upToTwo(fc.record({ traceId: idBytes(16), spanId: idBytes(8), attributes }, { requiredKeys: [] })),
    status: fc.record({ code: int32, message: text }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const logRecord = fc.record(
  {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber: int32,
    severityText: text,
    body: anyValue,
    attributes,
    traceId: idBytes(16),
    spanId: idBytes(8),
    eventName: name,
  },
  { requiredKeys: [] },
);
const group = fc.record({ resource: fc.record({ attributes }), scope: fc.record({ name, attributes }) }, { requiredKeys: [] });

/** Random ExportTraceServiceRequests, in the form that the generated code encodes. */
export const randomTraces = fc
  .record({ group, spans: upToTwo(span) })
  .map(({ group: { resource, scope }, spans }) => ({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }));

/** Random ExportLogsServiceRequests, in the form that the generated code encodes. */
export const randomLogs = fc
  .record({ group, logRecords: upToTwo(logRecord) })
  .map(({ group: { resource, scope }, logRecords }) => ({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] }));
