import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { byteChanges, mutatedBytes, otlpLikeJson } from '../../../core/test/otlp/mutated-bytes.ts';
import { opentelemetry } from '../../../core/test/otlp/protobuf/otlp.generated.js';
import {
  deepJsonAttribute,
  deepProtobufAttribute,
  manyAttributes,
  manyNames,
  repeatedLists,
  repeatedObjects,
} from './costly-exports.ts';
import { chatRun, id, jsonExport, newTrace, pairs, protobufExport } from './test-exports.ts';

/** A request of the fuzzer, and the statuses that it may get besides 503. */
export interface FuzzedExport {
  what: string;
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  statuses: readonly number[];
}

const PATHS = ['/v1/traces', '/v1/logs', '/v1/metrics'] as const;
type Path = (typeof PATHS)[number];
const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';

/** A valid body for each path. */
const VALID_BODIES: Readonly<Record<Path, () => { protobuf: Uint8Array; json: object }>> = {
  '/v1/traces': () => {
    const spans = chatRun(newTrace());
    return { protobuf: protobufExport(spans), json: jsonExport(spans) };
  },
  '/v1/logs': () => {
    const record = { eventName: 'gen_ai.user.message', timeUnixNano: '1', attributes: pairs({ content: newTrace() }) };
    const ids = { traceId: Buffer.from(newTrace(), 'hex'), spanId: Buffer.from(id(2), 'hex') };
    const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ ...record, timeUnixNano: 1, ...ids }] }] }] };
    const json = { ...record, traceId: newTrace(), spanId: id(2) };
    return {
      protobuf: opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest.encode(request).finish(),
      json: { resourceLogs: [{ scopeLogs: [{ logRecords: [json] }] }] },
    };
  },
  '/v1/metrics': () => ({
    protobuf: metricsExport(2),
    json: { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', sum: { dataPoints: [{ asInt: '1' }] } }] }] }] },
  }),
};

/** An ExportMetricsServiceRequest with a sum and a histogram of `points` points each. It is encoded by hand, without generated code. */
export function metricsExport(points: number): Uint8Array {
  const field = (number: number, content: Uint8Array) => Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content]);
  const dataPoint = field(1, Buffer.from([0x19, 1, 0, 0, 0, 0, 0, 0, 0]));
  const data = Buffer.concat(Array.from({ length: points }, () => dataPoint));
  const metric = (kind: number) => field(2, Buffer.concat([field(1, Buffer.from('tokens')), field(kind, data)]));
  const [SUM, HISTOGRAM] = [7, 9];
  return field(1, field(2, Buffer.concat([metric(SUM), metric(HISTOGRAM)])));
}

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const OK_OR_BAD_REQUEST = [200, 400];

const mutatedProtobuf = fc
  .record({ path: fc.constantFrom(...PATHS), otherPath: fc.option(fc.constantFrom(...PATHS), { freq: 6 }), changes: byteChanges })
  .map(({ path, otherPath, changes }) => ({
    what: 'mutated protobuf',
    path: otherPath ?? path,
    headers: { 'content-type': PROTOBUF },
    body: mutatedBytes(VALID_BODIES[path]().protobuf, changes),
    statuses: OK_OR_BAD_REQUEST,
  }));

const mutatedJson = fc.record({ path: fc.constantFrom(...PATHS), changes: byteChanges }).map(({ path, changes }) => ({
  what: 'mutated JSON',
  path,
  headers: { 'content-type': JSON_TYPE },
  body: mutatedBytes(jsonBytes(VALID_BODIES[path]().json), changes),
  statuses: OK_OR_BAD_REQUEST,
}));

const otherJson = fc.record({ path: fc.constantFrom(...PATHS), value: otlpLikeJson }).map(({ path, value }) => ({
  what: 'other JSON',
  path,
  headers: { 'content-type': JSON_TYPE },
  body: jsonBytes(value),
  statuses: OK_OR_BAD_REQUEST,
}));

/** A valid body in which one value is replaced. An object without a usable `toString` cannot be converted to text. */
const replacedValue = fc
  .record({
    path: fc.constantFrom(...PATHS),
    position: fc.nat(150),
    value: fc.constantFrom<unknown>({ toString: 1 }, [{ text: { toString: 1 } }], [], null, true, -1, ''),
  })
  .map(({ path, position, value }) => {
    let number = 0;
    return {
      what: `value number ${position} replaced by ${JSON.stringify(value)}`,
      path,
      headers: { 'content-type': JSON_TYPE },
      body: Buffer.from(JSON.stringify(VALID_BODIES[path]().json, (_, each) => (number++ === position ? value : each))),
      statuses: OK_OR_BAD_REQUEST,
    };
  });

const brokenCompression = fc
  .record({
    path: fc.constantFrom(...PATHS),
    encoding: fc.constantFrom('gzip', 'deflate'),
    compress: fc.constantFrom(gzipSync, deflateSync),
    changes: byteChanges,
  })
  .map(({ path, encoding, compress, changes }) => ({
    what: `broken ${encoding}`,
    path,
    headers: { 'content-type': PROTOBUF, 'content-encoding': encoding },
    body: mutatedBytes(compress(VALID_BODIES[path]().protobuf), changes),
    statuses: [...OK_OR_BAD_REQUEST, 413],
  }));

const wrongHeaders = fc
  .record({
    path: fc.constantFrom(...PATHS),
    headers: fc.oneof(
      fc
        .constantFrom('text/plain', 'application/grpc', 'application/x-ndjson', '*/*', 'x', ';')
        .map((type) => ({ 'content-type': type })),
      fc
        .constantFrom('zstd', 'br', 'snappy', 'gzip, gzip', 'x')
        .map((encoding) => ({ 'content-type': PROTOBUF, 'content-encoding': encoding })),
    ),
  })
  .map(({ path, headers }) => ({
    what: `headers ${JSON.stringify(headers)}`,
    path,
    headers: headers as Record<string, string>,
    body: VALID_BODIES[path]().protobuf,
    statuses: [415],
  }));

const wrongKey = fc
  .record({ path: fc.constantFrom(...PATHS), key: fc.constantFrom('', 'aa_live_', 'aa_live_0123456789', '%00', 'x'.repeat(900)) })
  .map(({ path, key }) => ({
    what: 'a wrong key',
    path,
    headers: { 'content-type': PROTOBUF, 'x-service-key': key },
    body: VALID_BODIES[path]().protobuf,
    statuses: [401],
  }));

const tooDeep = fc.record({ levels: fc.integer({ min: 70, max: 3000 }), isJson: fc.boolean() }).map(({ levels, isJson }) => ({
  what: `${levels} levels`,
  path: '/v1/traces',
  headers: { 'content-type': isJson ? JSON_TYPE : PROTOBUF },
  body: isJson ? Buffer.from(deepJsonAttribute(levels)) : deepProtobufAttribute(levels),
  statuses: [400],
}));

// The five costly bodies below are created once: creating them takes long, and the server runs in the same process.

const TOO_MANY_ATTRIBUTES: FuzzedExport = {
  what: 'too many attributes',
  path: '/v1/traces',
  headers: { 'content-type': PROTOBUF },
  body: manyAttributes(),
  statuses: [400],
};

/** The server rejects this body during decompression. */
const TOO_MANY_ATTRIBUTES_COMPRESSED: FuzzedExport = {
  ...TOO_MANY_ATTRIBUTES,
  what: 'too many attributes, compressed',
  headers: { ...TOO_MANY_ATTRIBUTES.headers, 'content-encoding': 'gzip' },
  body: gzipSync(TOO_MANY_ATTRIBUTES.body),
  statuses: [413],
};

const COSTLY_BODIES = [manyNames(), repeatedLists(64_000), repeatedObjects(64_000)];

const costlyValues = fc.constantFrom(...COSTLY_BODIES).map((body) => ({
  what: 'costly values',
  path: '/v1/traces',
  headers: { 'content-type': PROTOBUF },
  body,
  statuses: [400],
}));

const valid = fc
  .record({ path: fc.constantFrom(...PATHS), isJson: fc.boolean(), isGzip: fc.boolean() })
  .map(({ path, isJson, isGzip }) => {
    const { protobuf, json } = VALID_BODIES[path]();
    const body = isJson ? jsonBytes(json) : protobuf;
    return {
      what: 'a valid export',
      path,
      headers: { 'content-type': isJson ? JSON_TYPE : PROTOBUF, ...(isGzip ? { 'content-encoding': 'gzip' } : {}) },
      body: isGzip ? gzipSync(body) : body,
      statuses: [200],
    };
  });

const KINDS: fc.Arbitrary<FuzzedExport> = fc.oneof(
  { arbitrary: mutatedProtobuf, weight: 400 },
  { arbitrary: mutatedJson, weight: 150 },
  { arbitrary: otherJson, weight: 150 },
  { arbitrary: replacedValue, weight: 150 },
  { arbitrary: brokenCompression, weight: 150 },
  { arbitrary: wrongHeaders, weight: 50 },
  { arbitrary: wrongKey, weight: 50 },
  { arbitrary: tooDeep, weight: 10 },
  { arbitrary: fc.constantFrom(TOO_MANY_ATTRIBUTES, TOO_MANY_ATTRIBUTES_COMPRESSED), weight: 3 },
  { arbitrary: costlyValues, weight: 3 },
  { arbitrary: valid, weight: 50 },
);

/** Returns `count` requests: `TOO_MANY_ATTRIBUTES_COMPRESSED`, which every round must contain, then requests that the seed selects. */
export const fuzzedExports = (seed: number, count: number): FuzzedExport[] => [
  TOO_MANY_ATTRIBUTES_COMPRESSED,
  ...fc.sample(KINDS, { seed, numRuns: count - 1 }),
];
