import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { OUTCOME_RANK } from '@countersign/core/domain/merged-trace';
import type { Usage } from '@countersign/core/domain/usage';
import { beforeAll, describe, expect, test } from 'vitest';
import { inTenantTransaction, sql } from '../../src/database/transaction.ts';
import { initializeMergedSpans, mergeSpans } from '../../src/storage/merged-spans.ts';
import { type KnownTrace, lockTraces, type TraceFacts, updateTraces } from '../../src/storage/traces.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const span = (id: string, members: object = {}) => ({ span_id: id, kind: 'llm', name: 'step', ...members });
/** Sends a trace and returns the body of the response. */
const sendTrace = async (traceId: string, members: object = {}) => {
  const { status, body } = await server.post(paths.traces, key, { trace_id: traceId, ...members });
  expect([status, body.issues]).toEqual([200, undefined]);
  return body;
};
const storedTrace = async (traceId: string) =>
  (await server.database.sql('SELECT * FROM countersign.traces WHERE tenant_id = $1 AND trace_id = $2', [tenantId, traceId]))[0]!;

describe('the totals of a trace', () => {
  test.each<[string, object, { tokens: number | null; cost_usd: number | null }]>([
    ['are null if no span has a value', { spans: [span('a')] }, { tokens: null, cost_usd: null }],
    ['count zero as a value', { spans: [span('a', { total_tokens: 0, cost_usd: 0 })] }, { tokens: 0, cost_usd: 0 }],
    [
      'are the sums over the spans that have a value',
      { spans: [span('a', { total_tokens: 7, cost_usd: 0.1 }), span('b'), span('c', { total_tokens: 5, cost_usd: 0.2 })] },
      { tokens: 12, cost_usd: 0.3 },
    ],
    [
      'include the prompt and completion tokens of a span that has no total',
      {
        spans: [
          span('a', { prompt_tokens: 10, completion_tokens: 2 }),
          span('b', { completion_tokens: 30 }),
          span('c', { prompt_tokens: 1, completion_tokens: 1, total_tokens: 100 }),
        ],
      },
      { tokens: 142, cost_usd: null },
    ],
    [
      'are the supplied values, even if the sums over the spans are different',
      { total_tokens: 1, cost_usd: 9.99, spans: [span('a', { total_tokens: 50, cost_usd: 1 })] },
      { tokens: 1, cost_usd: 9.99 },
    ],
    [
      'use the sum of the supplied prompt and completion tokens',
      { prompt_tokens: 20, completion_tokens: 3, spans: [span('a', { total_tokens: 50 })] },
      { tokens: 23, cost_usd: null },
    ],
    [
      'are the sums over the spans if only prompt tokens are supplied',
      { prompt_tokens: 20, spans: [span('a', { total_tokens: 50 })] },
      { tokens: 50, cost_usd: null },
    ],
    [
      'are exact up to 2^53-1 tokens',
      { total_tokens: Number.MAX_SAFE_INTEGER },
      { tokens: Number.MAX_SAFE_INTEGER, cost_usd: null },
    ],
    [
      'are exact decimals for costs, however small',
      { spans: [0.1, 0.2, 0.3, 1e-7, 2e-7].map((cost, index) => span(`${index}`, { cost_usd: cost })) },
      { tokens: null, cost_usd: 0.6000003 },
    ],
    [
      'are five dollars for 500 spans that cost one cent each',
      { spans: Array.from({ length: 500 }, (_, index) => span(`${index}`, { cost_usd: 0.01 })) },
      { tokens: null, cost_usd: 5 },
    ],
  ])('%s', async (what, members, expected) => {
    expect(await sendTrace(what, members)).toMatchObject(expected);
  });

  test('keep all 29 digits of a sum of costs', async () => {
    await sendTrace('digits', { spans: [span('a', { cost_usd: 1e-20 }), span('b', { cost_usd: 123456789.125 })] });
    const [row] = await server.database.sql(`SELECT cost_usd::text AS cost FROM countersign.traces WHERE trace_id = 'digits'`);
    expect(row?.cost).toBe('123456789.12500000000000000001');
  });
});

test('the numbers of a span are stored exactly, and its times to the microsecond', async () => {
  const members = {
    total_tokens: Number.MAX_SAFE_INTEGER,
    cost_usd: 0.123456789012345,
    started_at: '1969-12-31T23:59:59.999999Z',
    ended_at: '9999-12-31T23:59:59.123456Z',
  };
  const { id } = await sendTrace('exact', { spans: [span('a', members)] });
  const [stored] = await server.database.sql(
    `SELECT total_tokens, cost_usd, to_jsonb(started_at AT TIME ZONE 'UTC') AS started_at, to_jsonb(ended_at AT TIME ZONE 'UTC') AS ended_at
       FROM countersign.spans WHERE trace = $1`,
    [id],
  );
  expect(stored).toEqual({
    total_tokens: Number.MAX_SAFE_INTEGER,
    cost_usd: '0.123456789012345',
    started_at: '1969-12-31T23:59:59.999999',
    ended_at: '9999-12-31T23:59:59.123456',
  });
});

describe('a trace sent again', () => {
  test('remains one trace: later spans replace earlier ones with the same span_id, and absent spans are kept', async () => {
    const first = await sendTrace('again', {
      spans: [span('a', { total_tokens: 5, model: 'm1', error: 'x' }), span('b', { total_tokens: 7 })],
    });
    expect(first).toMatchObject({ spans_ingested: 2, tokens: 12 });
    const second = await sendTrace('again', {
      spans: [span('a', { kind: 'tool', name: 'replaced' }), span('c', { total_tokens: 1 })],
    });
    expect(second).toEqual({ ...first, spans_ingested: 2, tokens: 8 });
    expect(await sendTrace('again')).toEqual({ ...first, spans_ingested: 0, tokens: 8 });
    expect(await sendTrace('again', { spans: [] })).toEqual({ ...first, spans_ingested: 0, tokens: 8 });
    expect(await sendTrace('again', { spans: null })).toEqual({ ...first, spans_ingested: 0, tokens: 8 });
    const spans = await server.database.sql(
      'SELECT span_id, kind, name, model, total_tokens, submission, ordinal FROM countersign.spans WHERE trace = $1 ORDER BY span_id',
      [first.id],
    );
    expect(spans).toEqual([
      { span_id: 'a', kind: 'tool', name: 'replaced', model: null, total_tokens: null, submission: 2, ordinal: 0 },
      { span_id: 'b', kind: 'llm', name: 'step', model: null, total_tokens: 7, submission: 1, ordinal: 1 },
      { span_id: 'c', kind: 'llm', name: 'step', model: null, total_tokens: 1, submission: 2, ordinal: 1 },
    ]);
    expect(await storedTrace('again')).toMatchObject({ span_count: 3, submission_count: 5 });
  });

  test('keeps the values that a later submission omits or sets to null, and replaces those that it sends', async () => {
    const sentMembers = {
      outcome: 'failure',
      session_id: 's',
      external_user_id: 'u',
      latency_ms: 7,
      started_at: '2026-01-01T00:00:00.123456789Z',
    };
    await sendTrace('members', sentMembers);
    await sendTrace('members', { ended_at: '2025-12-31T23:00:00-01:00', error: 'late', session_id: null });
    expect(await storedTrace('members')).toMatchObject({
      outcome: 'failure',
      session_id: 's',
      external_user_id: 'u',
      latency_ms: 7,
      has_error: true,
      started_at: new Date('2026-01-01T00:00:00.123Z'),
      ended_at: new Date('2026-01-01T00:00:00Z'),
    });
    await sendTrace('members', { outcome: 'success', session_id: 't', latency_ms: 0 });
    expect(await storedTrace('members')).toMatchObject({ outcome: 'success', session_id: 't', latency_ms: 0 });
  });

  test('the default outcome applies only to the first submission', async () => {
    await sendTrace('outcome');
    expect(await storedTrace('outcome')).toMatchObject({ outcome: 'success' });
    await sendTrace('outcome', { outcome: 'escalated' });
    await sendTrace('outcome', {});
    await sendTrace('outcome', { outcome: null });
    expect(await storedTrace('outcome')).toMatchObject({ outcome: 'escalated' });
  });

  test('a supplied total remains until a later submission supplies a new one, or both prompt and completion tokens', async () => {
    expect(await sendTrace('totals', { total_tokens: 100, cost_usd: 1 })).toMatchObject({ tokens: 100, cost_usd: 1 });
    expect(await sendTrace('totals', { spans: [span('a', { total_tokens: 5, cost_usd: 9 })] })).toMatchObject({
      tokens: 100,
      cost_usd: 1,
    });
    expect(await sendTrace('totals', { cost_usd: 2 })).toMatchObject({ tokens: 100, cost_usd: 2 });
    expect(await sendTrace('totals', { prompt_tokens: 7 })).toMatchObject({ tokens: 100 });
    expect(await sendTrace('totals', { prompt_tokens: 7, completion_tokens: 8 })).toMatchObject({ tokens: 15 });
    expect(await sendTrace('totals', { completion_tokens: 9 })).toMatchObject({ tokens: 16 });
    expect(await sendTrace('totals', { total_tokens: 3 })).toMatchObject({ tokens: 3, cost_usd: 2 });
  });

  test('a total that is sent with the spans or before them takes precedence over their sum, even if the sum is too large', async () => {
    const MAX = Number.MAX_SAFE_INTEGER;
    const spans = [span('a', { cost_usd: MAX, total_tokens: MAX }), span('b', { cost_usd: 5, total_tokens: 5 })];
    expect(await sendTrace('needless', { cost_usd: 1, total_tokens: 2, spans })).toMatchObject({
      ok: true,
      tokens: 2,
      cost_usd: 1,
    });
    expect(await sendTrace('needless', { detail: 'again' })).toMatchObject({ tokens: 2, cost_usd: 1 });
    expect(await sendTrace('before', { cost_usd: 1, total_tokens: 2 })).toMatchObject({ ok: true });
    expect(await sendTrace('before', { spans })).toMatchObject({ tokens: 2, cost_usd: 1, spans_ingested: 2 });
    expect((await server.post(paths.traces, key, { trace_id: 'first', spans })).body.issues).toMatchObject([
      { path: '/total_tokens', code: 'sum_too_large' },
    ]);
    expect(await sendTrace('supplied', { cost_usd: 1e300 })).toMatchObject({ ok: true, cost_usd: 1e300 });
    expect(await sendTrace('supplied', { spans: [span('a', { cost_usd: 2 })] })).toMatchObject({ cost_usd: 1e300 });
  });

  test('keeps every submission byte for byte with its time and sender', async () => {
    const documents = [
      `{ "trace_id" : "kept",\n\t"detail":"\\u0000 \\ud83d \u{1F600}", "unknown": 1e400, "trace_id": "kept" }`,
      '{"trace_id":"kept","metadata":{"__proto__":{"a":1},"n":12345678901234567890,"z":-0}}\r\n',
      '{"trace_id":"kept","spans":[{"span_id":"a","kind":"tool","name":"n","output":[[["\\udc00"]],0.1234567890123456789,1e-400]}]}',
    ];
    for (const document of documents) expect((await server.post(paths.traces, key, document)).status).toBe(200);
    expect((await server.post(paths.traces, key, gzipSync(documents[0]!), { 'content-encoding': 'gzip' })).status).toBe(200);
    const submissions = await server.database.sql<{ document: string; recorded_by: string; received_at: Date }>(
      `SELECT document, recorded_by, received_at FROM countersign.trace_submissions WHERE trace = $1 ORDER BY number`,
      [(await storedTrace('kept')).id],
    );
    expect(submissions.map(({ document }) => document)).toEqual([...documents, documents[0]]);
    expect(new Set(submissions.map(({ recorded_by }) => recorded_by))).toEqual(new Set([`key:${key.slice(8, 20)}`]));
    expect(submissions.map(({ received_at }) => +received_at)).toEqual(
      submissions.map(({ received_at }) => +received_at).toSorted((a, b) => a - b),
    );
  });
});

test('a batch finds its traces by their keys and does not scan a workspace that was just filled', async () => {
  const tenant = await server.workspace();
  await server.database.sql(
    `INSERT INTO countersign.traces (tenant_id, id, trace_id, outcome, has_error, span_count, submission_count, received_at)
     SELECT $1, gen_random_uuid(), 'run-' || n, 'success', false, 0, 1, clock_timestamp() FROM generate_series(1, 5000) AS n`,
    [tenant],
  );
  await server.database.sql(
    `INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document, spans)
     SELECT tenant_id, id, 1, received_at, 'key:000000000000', '{}', '[]' FROM countersign.traces WHERE tenant_id = $1`,
    [tenant],
  );
  await delay(2_000); // After this time, connections discard plans that they made for empty tables (database/planner.ts).
  const countFetchedTuples = sql<{ n: number }>(
    'fetched',
    `SELECT sum(idx_tup_fetch + seq_tup_read)::int AS n FROM pg_stat_xact_user_tables WHERE relname IN ('traces', 'trace_submissions', 'merged_spans', 'merged_traces')`,
  );
  await inTenantTransaction(server.open.pool, tenant, async (tx) => {
    const countFetched = async (work: () => Promise<unknown>): Promise<number> => {
      const [before] = await tx.run(countFetchedTuples, []);
      await work();
      return (await tx.run(countFetchedTuples, []))[0]!.n - before!.n;
    };
    let known: KnownTrace[] = [];
    const locking = await countFetched(async () => {
      known = await lockTraces(tx, ['run-7', 'run-4000', 'run-0', 'run-12']);
    });
    expect(known.map(({ traceId }) => traceId)).toEqual(['run-12', 'run-4000', 'run-7']);
    const summing = await countFetched(async () => {
      const merged = known.map(({ id }) => ({ trace: id, number: 1 }));
      initializeMergedSpans(
        tx,
        known.map(({ id }) => id),
      );
      expect(await mergeSpans(tx, merged)).toHaveLength(3);
    });
    const merging = await countFetched(async () => updateTraces(tx, '2026-11-20T09:30:00.000Z', known.map(failedFacts)));
    const tupleCounts = { locking, summing, merging };
    for (const [what, read] of Object.entries(tupleCounts)) expect([what, read]).toEqual([what, Math.min(read, 20)]);
    const outcomes = await tx.run(
      sql<{ outcome: string }>('outcomes', `SELECT outcome FROM countersign.traces WHERE outcome <> 'success'`),
      [],
    );
    expect(outcomes.length).toBe(3);
  });
});

const NO_USAGE: Usage = { promptTokens: null, completionTokens: null, totalTokens: null, costUsd: null };

/** The facts of a known trace after a submission with the outcome `failure` and without spans. */
const failedFacts = ({ id, traceId }: KnownTrace): TraceFacts => ({
  id,
  traceId,
  agentId: null,
  agentRank: 0,
  provisionalAgentName: null,
  outcome: 'failure',
  outcomeRank: OUTCOME_RANK.sent,
  isPartial: false,
  sessionId: null,
  externalUserId: null,
  latencyMs: null,
  hasError: false,
  startedAt: null,
  endedAt: null,
  supplied: NO_USAGE,
  totals: NO_USAGE,
  spanCount: 0,
});
