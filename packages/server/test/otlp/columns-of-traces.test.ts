import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { verifyTraces } from '../../src/ledger/verify-traces.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { type Exporter, exporter } from './sending.ts';
import { id, jsonExport, newTrace } from './test-exports.ts';

// These tests check that the columns of a stored trace equal the values derived from its documents, so `ledger verify` has no finding.
const folder = new URL('./recorded/', import.meta.url);

let server: TestServer;
let tenantId: string;
let key: string;
let otlpExporter: Exporter;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  otlpExporter = exporter(server, key);
});

const verifyRuns = async () => {
  const { findings, firstBad, contradiction } = await verifyTraces(server.open.pool, tenantId);
  return { findings, firstBad, contradiction };
};
const NO_FINDINGS = { findings: [], firstBad: undefined, contradiction: undefined };

test('exports of real instrumentations, with spans and log records, give no finding', async () => {
  const names = readdirSync(folder);
  for (const name of names)
    for (const { path, contentType, body } of JSON.parse(readFileSync(new URL(name, folder), 'utf8'))) {
      const { status } = await otlpExporter.send(Buffer.from(body, 'base64'), { 'content-type': contentType }, path);
      expect(status).toBe(200);
    }
  expect(names.length).toBeGreaterThan(3);
  expect(await verifyRuns()).toEqual(NO_FINDINGS);
});

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const tokens = optional(fc.oneof(fc.nat(1000), fc.constant(2 ** 40)));
const cost = optional(
  fc.oneof(fc.constantFrom(0, 0.1, 0.2, 1e-7, 12.345678901, 1e15), fc.double({ min: 0, max: 10, noNaN: true })),
);
const instant = optional(
  fc.constantFrom(
    '2026-11-20T09:30:00Z',
    '2026-11-20T09:30:00.123456789+05:30',
    '1969-12-31T23:59:59.000001Z',
    '2026-12-31T23:59:60Z',
  ),
);
const usage = { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens, cost_usd: cost };
const times = { latency_ms: optional(fc.nat()), started_at: instant, ended_at: instant };
const span = fc.record({
  ...{
    span_id: fc.constantFrom('a', 'b', 'c', 'd'),
    kind: fc.constantFrom('llm', 'tool'),
    name: fc.string({ minLength: 1, maxLength: 9 }),
  },
  ...{
    status: optional(fc.constantFrom('error', 'success')),
    model: optional(fc.constantFrom('gpt-ä', 'm"\\')),
    ...usage,
    ...times,
  },
});
const submission = fc.record({
  trace_id: fc.constantFrom('t1', 't2', 't3'),
  agent_name: fc.constantFrom('bot', null),
  outcome: optional(fc.constantFrom('success', 'failure', 'blocked')),
  session_id: optional(fc.constantFrom('s1', 's2')),
  external_user_id: optional(fc.constantFrom('u1', 'u2')),
  error: optional(fc.constantFrom('', 'failed')),
  ...usage,
  ...times,
  spans: optional(fc.uniqueArray(span, { maxLength: 4, selector: ({ span_id: id }) => id })),
});

test('random submissions to /api/public/traces, merged into three traces, give no finding', async () => {
  const statuses: number[] = [];
  for (const body of fc.sample(submission, { numRuns: 150, seed: 20261123 })) {
    const { status } = await server.post(paths.traces, key, body);
    statuses.push(status);
  }
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(50);
  expect(await verifyRuns()).toEqual(NO_FINDINGS);
});

const markedStep = fc.record({
  number: fc.nat(5),
  parent: fc.nat(5),
  total: optional(fc.nat(9)),
  cost: optional(fc.nat(9)),
});

test('random submissions in which the sender itself sets `countersign.may_repeat_parent` give no finding', async () => {
  const requests = fc.record({
    traceId: fc.constantFrom('marked-a', 'marked-b'),
    steps: fc.uniqueArray(markedStep, { minLength: 1, maxLength: 4, selector: ({ number }) => number }),
  });
  for (const { traceId, steps } of fc.sample(requests, { numRuns: 150, seed: 20261128 })) {
    const spans = steps.map(({ number, parent, total, cost }) => ({
      ...{ span_id: `${number}`, parent_span_id: `${parent}`, kind: 'llm', name: 'call', total_tokens: total, cost_usd: cost },
      metadata: { 'countersign.may_repeat_parent': true },
    }));
    expect((await server.post(paths.traces, key, { trace_id: traceId, spans })).status).toBe(200);
  }
  expect(await verifyRuns()).toEqual(NO_FINDINGS);
});

const call = fc.record({
  number: fc.nat(5),
  parent: fc.nat(5),
  kind: fc.constantFrom('chat', 'invoke_agent'),
  tokens: optional(fc.nat(9)),
});

test('random exports of calls nested in calls, merged into three traces, give no finding', async () => {
  const traces = [newTrace(), newTrace(), newTrace()];
  const requests = fc.record({
    traceId: fc.constantFrom(...traces),
    calls: fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ number }) => number }),
  });
  for (const { traceId, calls } of fc.sample(requests, { numRuns: 150, seed: 20261127 })) {
    const spans = calls.map(({ number, parent, kind, tokens: input }) => ({
      ...{ traceId, spanId: id(number), parentSpanId: id(parent) },
      attributes: {
        'gen_ai.operation.name': kind,
        ...(input === null ? {} : { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.cost': input / 10 }),
      },
    }));
    expect((await otlpExporter.sendJson(jsonExport(spans))).status).toBe(200);
  }
  const cleared = await server.database.sql(
    'SELECT FROM countersign.merged_spans WHERE tenant_id = $1 AND parent_of_call IS NOT NULL AND total_tokens IS NULL',
    [tenantId],
  );
  expect(cleared.length).toBeGreaterThan(0);
  expect(await verifyRuns()).toEqual(NO_FINDINGS);
});
