import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapLogs } from '../../src/otlp/map-logs.ts';
import { mapTraces } from '../../src/otlp/map-traces.ts';
import { opentelemetry } from '../../src/otlp/protobuf/otlp.generated.js';
import { readJsonLogs, readJsonSpans } from '../../src/otlp/read-json.ts';
import { readProtobufLogs, readProtobufSpans } from '../../src/otlp/read-protobuf.ts';
import { MalformedExportError } from '../../src/otlp/records.ts';

const attribute = (key: string, value: object) => ({ key, value });
const span = {
  traceId: new Uint8Array(16).fill(7),
  spanId: new Uint8Array(8).fill(3),
  parentSpanId: new Uint8Array(8).fill(2),
  name: 'chat',
  startTimeUnixNano: { low: 1, high: 395_812_094, unsigned: true },
  endTimeUnixNano: { low: 9, high: 395_812_094, unsigned: true },
  attributes: [
    attribute('gen_ai.operation.name', { stringValue: 'chat' }),
    attribute('gen_ai.usage.input_tokens', { intValue: 12 }),
    attribute('llm.cost.total', { doubleValue: 0.25 }),
    attribute('gen_ai.input.messages', { stringValue: '[{"role":"user","parts":[{"type":"text","content":"hello"}]}]' }),
    attribute('list', { arrayValue: { values: [{ stringValue: 'a' }, { boolValue: true }] } }),
    attribute('object', { kvlistValue: { values: [attribute('inner', { bytesValue: new Uint8Array([1, 2]) })] } }),
    attribute('llm.input_messages.0.message.content', { stringValue: 'x' }),
  ],
  events: [{ name: 'exception', attributes: [attribute('exception.message', { stringValue: 'no' })] }],
  links: [{ traceId: new Uint8Array(16).fill(1), spanId: new Uint8Array(8).fill(1) }],
  status: { code: 2, message: 'no' },
};
const record = {
  ...span,
  eventName: 'gen_ai.choice',
  body: { kvlistValue: { values: [attribute('content', { stringValue: 'hi' })] } },
};
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;
const { ExportLogsServiceRequest } = opentelemetry.proto.collector.logs.v1;
const TRACES = ExportTraceServiceRequest.encode({ resourceSpans: [{ scopeSpans: [{ spans: [span, span] }] }] }).finish();
const LOGS = ExportLogsServiceRequest.encode({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }).finish();

/** Runs a reader and its mapping; the only error they may throw is MalformedExportError. */
function attempt(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof MalformedExportError)) throw error;
  }
}

/** Mutations of a body: replaced, removed and inserted bytes, and a truncated end. */
const mutations = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    kind: fc.constantFrom('set', 'drop', 'add', 'cut'),
    byte: fc.nat(255),
  }),
  { minLength: 1, maxLength: 6 },
);
function mutated(body: Uint8Array, changes: readonly { at: number; kind: string; byte: number }[]): Uint8Array {
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

/** COUNTERSIGN_FUZZ_RUNS sets another number of runs. */
const RUNS = Number(process.env.COUNTERSIGN_FUZZ_RUNS ?? 20_000);

describe('OTLP decoders', () => {
  test('decode a valid body', () => {
    const [first, second] = readProtobufSpans(TRACES);
    expect(second).toEqual(first);
    expect(first).toMatchObject({
      traceId: '07'.repeat(16),
      spanId: '03'.repeat(8),
      parentSpanId: '02'.repeat(8),
      statusCode: 2,
    });
    expect(Object.fromEntries(first!.attributes)).toMatchObject({ list: ['a', true], object: { inner: 'AQI=' } });
    expect(readProtobufLogs(LOGS)).toHaveLength(1);
  });

  test.each([
    ['spans', TRACES, (bytes: Uint8Array) => void mapTraces(readProtobufSpans(bytes))],
    ['log records', LOGS, (bytes: Uint8Array) => void mapLogs(readProtobufLogs(bytes))],
  ])('decode mutated protobuf of %s or throw MalformedExportError', { timeout: 3_600_000 }, (_, body, read) => {
    fc.assert(
      fc.property(mutations, (changes) => attempt(() => read(mutated(body, changes)))),
      { numRuns: RUNS },
    );
  });

  test('decode any JSON or throw MalformedExportError', { timeout: 3_600_000 }, () => {
    const members = [
      'resourceSpans',
      'scopeSpans',
      'spans',
      'resourceLogs',
      'scopeLogs',
      'logRecords',
      'attributes',
      'key',
      'value',
    ];
    const values = [
      'stringValue',
      'intValue',
      'arrayValue',
      'kvlistValue',
      'values',
      'traceId',
      'startTimeUnixNano',
      'status',
      'events',
    ];
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 9 }, fc.jsonValue({ maxDepth: 1 }), tie('list'), tie('object')),
      list: fc.array(tie('tree'), { maxLength: 3 }),
      object: fc.dictionary(fc.constantFrom(...members, ...values), tie('tree'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(tree, (body) => {
        attempt(() => mapTraces(readJsonSpans(body)));
        attempt(() => mapLogs(readJsonLogs(body)));
      }),
      { numRuns: RUNS },
    );
  });
});
