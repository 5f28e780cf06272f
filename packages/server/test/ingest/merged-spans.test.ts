import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer({ databaseConnections: 1 });
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const send = async (traceId: string, spans: object[], members: object = {}) => {
  const { status, body } = await server.post(paths.traces, key, { trace_id: traceId, spans, ...members });
  expect([status, body.issues]).toEqual([200, undefined]);
  return body;
};

/** The number of buffers that were read so far from the trace tables, in memory or on disk. */
async function totalBuffersRead(): Promise<number> {
  // All writes use this connection, because the pool has only one.
  await server.open.pool.query('SELECT pg_stat_force_next_flush()');
  const [row] = await server.database.sql<{ n: string }>(
    `SELECT sum(heap_blks_read + heap_blks_hit + coalesce(toast_blks_read + toast_blks_hit, 0)) AS n FROM pg_statio_user_tables
      WHERE relname IN ('trace_submissions', 'merged_spans', 'merged_traces', 'traces')`,
  );
  return Number(row!.n);
}

test('a submission to a long trace reads less than twice as many buffers as a submission to a short trace', {
  timeout: 60_000,
}, async () => {
  const traceId = randomUUID();
  const submit = (number: number) =>
    send(
      traceId,
      Array.from({ length: 100 }, (_, n) => ({ span_id: `${number}-${n}`, kind: 'llm', name: 'step', total_tokens: n })),
    );
  /** Sends ten submissions. Returns the number of buffers that they read. */
  const countBuffersRead = async (first: number): Promise<number> => {
    const before = await totalBuffersRead();
    for (let number = first; number < first + 10; number += 1) await submit(number);
    return (await totalBuffersRead()) - before;
  };
  await submit(1);
  const shortTraceReads = await countBuffersRead(2);
  for (let number = 12; number < 90; number += 1) await submit(number);
  const longTraceReads = await countBuffersRead(90);
  expect({
    shortTraceReads,
    longTraceReads,
    ratio: longTraceReads / shortTraceReads < 2 ? 'bounded' : longTraceReads / shortTraceReads,
  }).toEqual({ shortTraceReads, longTraceReads, ratio: 'bounded' });
});

/** Selects the sums over the merged spans of a trace, which the view `spans` computes from the submissions. */
const SELECT_VIEW_SUMS = `SELECT count(*)::int AS span_count, sum(prompt_tokens)::text AS prompt_tokens,
  sum(completion_tokens)::text AS completion_tokens, sum(total_tokens)::text AS total_tokens, trim_scale(sum(cost_usd))::text AS cost_usd FROM countersign.spans WHERE tenant_id = $1 AND trace = $2`;
const SELECT_STORED_SUMS = `SELECT span_count::int, prompt_tokens::text, completion_tokens::text, total_tokens::text,
  trim_scale(cost_usd)::text AS cost_usd FROM countersign.traces WHERE tenant_id = $1 AND id = $2`;

/** Pseudo-random numbers that are the same in every run. */
function* pseudoRandomNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648;
  }
}

test.each([1, 2, 3, 4])(
  'the sums of a trace equal the sums over its merged spans after random replacements: seed %i',
  async (seed) => {
    const chance = pseudoRandomNumbers(seed);
    const randomBelow = (limit: number) => Math.floor(chance.next().value * limit);
    const usage = () => ({
      ...(randomBelow(2) === 0 ? { prompt_tokens: randomBelow(1000) } : {}),
      ...(randomBelow(2) === 0 ? { completion_tokens: randomBelow(1000) } : {}),
      ...(randomBelow(3) === 0 ? { total_tokens: randomBelow(5000) } : {}),
      ...(randomBelow(2) === 0 ? { cost_usd: randomBelow(1_000_000) * 10 ** -randomBelow(12) } : {}),
    });
    const traceId = randomUUID();
    for (let turn = 0; turn < 12; turn += 1) {
      const ids = [...new Set(Array.from({ length: randomBelow(8) }, () => `${randomBelow(12)}`))];
      const hasUsage = randomBelow(4) !== 0;
      const { id } = await send(
        traceId,
        ids.map((span_id) => ({ span_id, kind: 'llm', name: 'step', ...(hasUsage ? usage() : {}) })),
      );
      const [stored] = await server.database.sql(SELECT_STORED_SUMS, [tenantId, id]);
      const [expected] = await server.database.sql(SELECT_VIEW_SUMS, [tenantId, id]);
      expect({ turn, ...stored }).toEqual({ turn, ...expected });
    }
  },
);

test('a sum is unknown, not zero, after the only span with a value is replaced by one without a value', async () => {
  const step = { span_id: 'a', kind: 'llm', name: 'step' };
  await send('unknown', [{ ...step, total_tokens: 5, cost_usd: 0.25 }]);
  expect(await send('unknown', [step])).toMatchObject({ tokens: null, cost_usd: null });
  expect(await send('unknown', [{ ...step, total_tokens: 0, cost_usd: 0 }])).toMatchObject({ tokens: 0, cost_usd: 0 });
});

test('a submission that would make a sum of the trace too large is rejected and changes nothing', async () => {
  const large = (span_id: string) => ({ span_id, kind: 'llm', name: 'step', total_tokens: Number.MAX_SAFE_INTEGER });
  await send('large', [large('a')]);
  const { status, body } = await server.post(paths.traces, key, { trace_id: 'large', spans: [large('b')] });
  expect([status, body.error]).toEqual([422, 'validation_failed']);
  expect(await send('large', [large('a')])).toMatchObject({ tokens: Number.MAX_SAFE_INTEGER });
});

test('a trace with one submission has no rows in the tables of merged spans', async () => {
  const { id } = await send('alone', [{ span_id: 'a', kind: 'llm', name: 'step', total_tokens: 1 }]);
  for (const table of ['merged_spans', 'merged_traces'])
    expect(await server.database.sql(`SELECT FROM countersign.${table} WHERE trace = $1`, [id])).toEqual([]);
});
