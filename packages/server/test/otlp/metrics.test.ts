import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../harness/test-server.ts';
import { metricsExport } from './fuzzed-exports.ts';
import { type Exporter, exporter, JSON_TYPE, PROTOBUF, partialSuccessOf } from './sending.ts';

let server: TestServer;
let send: Exporter['send'];

beforeAll(async () => {
  server = await testServer();
  ({ send } = exporter(server, await server.key(await server.workspace(), ['telemetry'])));
});

const point = { asInt: '1' };
/** One metric of each kind, with seven points in total. */
const everyKind = {
  resourceMetrics: [
    {
      scopeMetrics: [
        {
          metrics: [
            { name: 'gauge', gauge: { dataPoints: [point] } },
            { name: 'sum', sum: { dataPoints: [point, point] } },
            { name: 'histogram', histogram: { dataPoints: [{ count: '1', bucketCounts: ['1'] }] } },
            { name: 'exponential', exponentialHistogram: { dataPoints: [{ count: '1' }] } },
            { name: 'summary', summary: { dataPoints: [{ count: '1' }, { count: '2' }] } },
          ],
        },
      ],
    },
  ],
};

describe('POST /v1/metrics', () => {
  test.each<[string, Uint8Array | string, Record<string, string>, number]>([
    ['protobuf', metricsExport(2), PROTOBUF, 4],
    ['compressed protobuf', gzipSync(metricsExport(3)), { ...PROTOBUF, 'content-encoding': 'gzip' }, 6],
    ['JSON', JSON.stringify(everyKind), JSON_TYPE, 7],
  ])('accepts %s, reports its data points as rejected, and stores nothing', async (_, body, headers, points) => {
    const response = await send(body, headers, '/v1/metrics');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, headers['content-type']]);
    expect(partialSuccessOf(response)).toEqual({
      rejected: points,
      message: 'Metrics are not stored here; set OTEL_METRICS_EXPORTER=none.',
    });
    expect(await server.database.sql('SELECT id FROM countersign.otlp_exports')).toEqual([]);
  });

  test.each([
    ['protobuf', PROTOBUF, '', ''],
    ['JSON', JSON_TYPE, '{}', '{}'],
  ])('responds with full success to %s without data points', async (_, headers, body, response) => {
    const { status, bytes } = await send(body, headers, '/v1/metrics');
    expect([status, bytes.toString()]).toEqual([200, response]);
  });
});
