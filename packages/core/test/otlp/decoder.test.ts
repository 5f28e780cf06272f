import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapLogs } from '../../src/otlp/map-logs.ts';
import { mapTraces } from '../../src/otlp/map-traces.ts';
import { readJsonLogs, readJsonSpans } from '../../src/otlp/read-json.ts';
import { readProtobufLogs, readProtobufSpans } from '../../src/otlp/read-protobuf.ts';
import { MalformedExportError } from '../../src/otlp/records.ts';
import { byteChanges, mutatedBytes, otlpLikeJson } from './mutated-bytes.ts';
import { opentelemetry } from './protobuf/otlp.generated.js';

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

/** The number of inputs of each test with random inputs. COUNTERSIGN_FUZZ_RUNS sets another number. */
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
      fc.property(byteChanges, (changes) => attempt(() => read(mutatedBytes(body, changes)))),
      { numRuns: RUNS },
    );
  });

  test('decode random JSON or throw MalformedExportError', { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(otlpLikeJson, (body) => {
        attempt(() => mapTraces(readJsonSpans(body)));
        attempt(() => mapLogs(readJsonLogs(body)));
      }),
      { numRuns: RUNS },
    );
  });
});
