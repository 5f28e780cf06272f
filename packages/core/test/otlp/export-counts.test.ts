import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ExportCounts, zeroCounts } from '../../src/otlp/export-counts.ts';
import { countProtobuf } from '../../src/otlp/protobuf-bounds.ts';
import { readJsonLogs, readJsonSpans } from '../../src/otlp/read-json.ts';
import { MalformedExportError, VALUES_MAX } from '../../src/otlp/records.ts';
import { opentelemetry } from './protobuf/otlp.generated.js';
import { randomLogs, randomTraces } from './random-exports.ts';

const RUNS = Number(process.env.COUNTERSIGN_FUZZ_RUNS ?? 1000);
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;
const { ExportLogsServiceRequest } = opentelemetry.proto.collector.logs.v1;

/** The JSON form of a request. Only its structure is counted, so 64-bit numbers become 7, and IDs and bytes become Base64. */
function jsonOf(content: unknown): unknown {
  if (content instanceof Uint8Array) return Buffer.from(content).toString('base64');
  if (Array.isArray(content)) return content.map(jsonOf);
  if (typeof content !== 'object' || content === null) return content;
  if ('low' in content) return '7';
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [name, jsonOf(value)]));
}

/** Returns two functions that add the counts of a request to the given counts: one uses the protobuf reader, the other the JSON reader. */
type CreateCounters = (request: object) => [(counts: ExportCounts) => void, (counts: ExportCounts) => void];

const createTraceCounters: CreateCounters = (request) => {
  const [bytes, json] = [ExportTraceServiceRequest.encode(request as never).finish(), jsonOf(request)];
  return [(counts) => void countProtobuf('traces', bytes, counts), (counts) => void readJsonSpans(json, counts)];
};
const createLogCounters: CreateCounters = (request) => {
  const [bytes, json] = [ExportLogsServiceRequest.encode(request as never).finish(), jsonOf(request)];
  return [(counts) => void countProtobuf('logs', bytes, counts), (counts) => void readJsonLogs(json, counts)];
};

/** Returns the counts that a reader adds. Also checks that the reader accepts as many values as the limit, and not one more. */
function countsOf(count: (counts: ExportCounts) => void): ExportCounts {
  const counts = zeroCounts();
  count(counts);
  const valuesBefore = VALUES_MAX - counts.values;
  count({ records: 0, values: valuesBefore });
  if (counts.values > 0) expect(() => count({ records: 0, values: valuesBefore + 1 })).toThrow(MalformedExportError);
  return counts;
}

const list = (...values: object[]) => ({ arrayValue: { values } });
const attributes = [{ key: 'a', value: { boolValue: true } }, { key: 'b', value: {} }, { key: 'c' }, {}];
const withAttributes = { attributes };
const group = (members: object) => ({ resourceSpans: [{ scopeSpans: [{ ...members }] }] });
const log = (record: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });

describe('the readers of protobuf and JSON', () => {
  test.each<[string, CreateCounters, object, ExportCounts]>([
    ['attributes with and without a value', createTraceCounters, group({ spans: [withAttributes] }), { records: 1, values: 4 }],
    [
      'attributes of the resource',
      createTraceCounters,
      { resourceSpans: [{ resource: { attributes } }] },
      { records: 0, values: 4 },
    ],
    ['attributes of the scope', createTraceCounters, group({ scope: { attributes } }), { records: 0, values: 4 }],
    [
      'attributes of events and links',
      createTraceCounters,
      group({ spans: [{ events: [withAttributes], links: [withAttributes] }] }),
      { records: 3, values: 8 },
    ],
    [
      'the elements of lists',
      createTraceCounters,
      group({ spans: [{ attributes: [{ key: 'a', value: list({}, list(), list({ intValue: { low: 1, high: 0 } })) }] }] }),
      { records: 1, values: 5 },
    ],
    [
      'the members of objects',
      createTraceCounters,
      group({ spans: [{ attributes: [{ key: 'a', value: { kvlistValue: { values: attributes } } }] }] }),
      { records: 1, values: 5 },
    ],
    ['the body of a log record', createLogCounters, log({ body: list({}, {}), attributes }), { records: 1, values: 7 }],
    ['an empty body of a log record', createLogCounters, log({ body: {} }), { records: 1, values: 1 }],
  ])('agree on the counts of %s', (_, createCounters, request, counts) => {
    expect(createCounters(request).map(countsOf)).toEqual([counts, counts]);
  });

  test.each([
    ['spans', randomTraces, createTraceCounters],
    ['log records', randomLogs, createLogCounters],
  ])('agree on the counts of random %s', { timeout: 3_600_000 }, (_, requests: fc.Arbitrary<object>, createCounters) => {
    fc.assert(
      fc.property(requests, (request) => {
        const [protobuf, json] = createCounters(request).map(countsOf);
        expect(json).toEqual(protobuf);
      }),
      { numRuns: RUNS },
    );
  });
});
