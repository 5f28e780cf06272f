import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProtobufLogs, readProtobufSpans } from '../../src/otlp/read-protobuf.ts';
import { MalformedExportError } from '../../src/otlp/records.ts';
import { byteChanges, mutatedBytes } from './mutated-bytes.ts';
import { opentelemetry } from './protobuf/otlp.generated.js';
import { randomLogs, randomTraces } from './random-exports.ts';
import { decodeLogs, decodeSpans } from './reference-decoder.ts';

// The reader must read what the generated code of protobufjs reads.

const RUNS = Number(process.env.COUNTERSIGN_FUZZ_RUNS ?? 3000);
const { ExportTraceServiceRequest } = opentelemetry.proto.collector.trace.v1;
const { ExportLogsServiceRequest } = opentelemetry.proto.collector.logs.v1;

const TRACES = randomTraces.map((request) => ExportTraceServiceRequest.encode(request as never).finish());
const LOGS = randomLogs.map((request) => ExportLogsServiceRequest.encode(request as never).finish());

type Read = (bytes: Uint8Array) => unknown;

/** What a reader returns, or `rejected` if it throws the expected error. Maps become lists, so the order of attributes is compared too. */
function outcome(read: Read, bytes: Uint8Array, expectedError: abstract new (...args: never[]) => Error): unknown {
  try {
    return JSON.parse(JSON.stringify(read(bytes), (_, value) => comparable(value)));
  } catch (error) {
    if (error instanceof expectedError) return 'rejected';
    throw error;
  }
}

const comparable = (value: unknown): unknown =>
  value instanceof Map ? [...value] : typeof value === 'bigint' ? `${value} ns` : Object.is(value, -0) ? 0 : value;

const CASES: [string, fc.Arbitrary<Uint8Array>, Read, Read][] = [
  ['spans', TRACES, readProtobufSpans, decodeSpans],
  ['log records', LOGS, readProtobufLogs, decodeLogs],
];

describe('the reader of protobuf', () => {
  test.each(CASES)('reads %s as protobufjs does', { timeout: 3_600_000 }, (_, bodies, read, reference) => {
    fc.assert(
      fc.property(bodies, (body) => {
        expect(outcome(read, body, MalformedExportError)).toEqual(outcome(reference, body, Error));
      }),
      { numRuns: RUNS },
    );
  });

  test.each(CASES)(
    'reads mutated %s as protobufjs does, unless the reader or protobufjs rejects them',
    { timeout: 3_600_000 },
    (_, bodies, read, reference) => {
      let accepted = 0;
      fc.assert(
        fc.property(bodies, byteChanges, (body, changes) => {
          const mutated = mutatedBytes(body, changes);
          const result = outcome(read, mutated, MalformedExportError);
          const referenceResult = outcome(reference, mutated, Error);
          // Some bodies are rejected by only one of the two. For example, countProtobuf rejects groups, and protobufjs also checks
          // texts that the reader skips.
          if (result === 'rejected' || referenceResult === 'rejected') return;
          accepted += 1;
          expect(result).toEqual(referenceResult);
        }),
        { numRuns: RUNS },
      );
      expect(accepted).toBeGreaterThan(RUNS / 10);
    },
  );

  test('rejects a text that is not UTF-8', () => {
    const body = ExportTraceServiceRequest.encode({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'abc' }] }] }] } as never);
    const bytes = Uint8Array.from(body.finish());
    bytes[bytes.length - 1] = 0xff;
    expect(() => readProtobufSpans(bytes)).toThrow(/a text is not UTF-8/);
    expect(() => decodeSpans(bytes)).toThrow();
  });

  test('reads a resource and a scope that follow their spans', () => {
    const [resource, scope] = [
      { resource: { attributes: [{ key: 'service.name', value: { stringValue: 'late' } }] } },
      { name: 'late scope' },
    ];
    const encodeResourceSpans = (message: object) =>
      ExportTraceServiceRequest.encode({ resourceSpans: [message] } as never).finish();
    // The calls of `subarray` remove the tags and lengths of outer messages.
    const spans = encodeResourceSpans({ scopeSpans: [{ spans: [{ name: 'a' }] }] }).subarray(2);
    const wrapInField = (bytes: Uint8Array) => Buffer.from([0x0a, bytes.length, ...bytes]);
    const scopeBytes = encodeResourceSpans({ scopeSpans: [{ scope }] }).subarray(4);
    const inScope = Buffer.from([...spans.subarray(2), ...scopeBytes]);
    const body = wrapInField(Buffer.from([0x12, inScope.length, ...inScope, ...encodeResourceSpans(resource).subarray(2)]));
    const [record] = readProtobufSpans(body);
    expect(record).toMatchObject({ name: 'a', scope: 'late scope' });
    expect([...record!.resource]).toEqual([['service.name', 'late']]);
    expect(outcome(readProtobufSpans, body, MalformedExportError)).toEqual(outcome(decodeSpans, body, Error));
  });
});
