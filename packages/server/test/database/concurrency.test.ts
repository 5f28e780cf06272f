import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let database: TestDatabase;
let servers: [TestServer, TestServer];
let tenantId: string;
let key: string;

beforeAll(async () => {
  database = await cloneDatabase();
  servers = [await testServer({ database }), await testServer({ database })];
  tenantId = await servers[0].workspace();
  key = await servers[0].key(tenantId);
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await database.drop();
});

/** Posts to one of the servers: even numbers to the first server, odd numbers to the second. */
const post = (number: number, path: string, body: unknown, headers?: Record<string, string>) =>
  servers[number % 2]!.post(path, key, body, headers);

/** Runs the work `count` times concurrently, numbered from 0. */
const runAtOnce = <T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, number) => work(number)));

/** Groups responses by status. */
const groupByStatus = (responses: readonly TestResponse[]) => Object.groupBy(responses, ({ status }) => status);
const expectAllOk = (responses: readonly TestResponse[]) => expect(Object.keys(groupByStatus(responses))).toEqual(['200']);

/** The bytes of the requests in the queue of the first server. */
const queuedBytes = async () =>
  Number(/^countersign_queue_bytes (\d+)/m.exec(await (await fetch(`${servers[0].url}/metrics`)).text())![1]);

const expectValidChain = async () =>
  expect(await verifyAuditLedger(servers[0].open.pool, tenantId)).toMatchObject({ firstBad: undefined });

describe('two servers on one database', () => {
  test('64 concurrent callers leave no gap and no fork in a ledger, which contains every returned row_hash', async () => {
    const before = await database.sql('SELECT 1 FROM countersign.audit_entries WHERE tenant_id = $1', [tenantId]);
    const responses = (
      await runAtOnce(64, async (caller) => {
        const responsesOfCaller: TestResponse[] = [];
        for (let turn = 0; turn < 6; turn += 1)
          responsesOfCaller.push(
            await post(caller + turn, paths.audit, { actor: `caller-${caller}`, action: 'test.append', metadata: { turn } }),
          );
        return responsesOfCaller;
      })
    ).flat();
    expectAllOk(responses);
    const rows = await database.sql<{ seq: number; row_hash: string; prev_hash: string | null }>(
      `SELECT seq, encode(row_hash, 'hex') AS row_hash, encode(prev_hash, 'hex') AS prev_hash
         FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq`,
      [tenantId],
    );
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: before.length + 384 }, (_, index) => index + 1));
    expect(new Set(rows.map(({ prev_hash }) => prev_hash)).size).toBe(rows.length);
    const bySeq = new Map(rows.map((row) => [String(row.seq), row]));
    for (const { headers, body } of responses) {
      const row = bySeq.get(headers.get('countersign-ledger-seq')!);
      expect([row?.row_hash, row?.prev_hash]).toEqual([body.row_hash, body.prev_hash]);
    }
    await expectValidChain();
  });

  test.each([
    ['audit', 'audit_entries', paths.audit, { actor: 'ci', action: 'test.turn' }],
    ['decisions', 'decisions', paths.promotionCheck, { agent_name: 'waits', min_pass_rate: 80 }],
  ] as const)(
    'a batch that waits for the lock of the log %s also appends, in the same transaction, the requests that arrive meanwhile',
    async (log, table, path, body) => {
      const workspace = await servers[0].workspace();
      const workspaceKey = await servers[0].key(workspace);
      const send = (number: number) => servers[number]!.post(path, workspaceKey, body);
      for (const number of [0, 1, 0]) expect((await send(number)).status).toBe(200);
      const responses = await inTenantTransaction(servers[1].open.pool, workspace, async (tx) => {
        await lockLogs(tx, [log]);
        const first = send(0);
        await waitForBlockedStatements(database);
        const before = await queuedBytes();
        const others = runAtOnce(10, () => send(0));
        await until('the ten other requests are in the queue', async () => (await queuedBytes()) >= 11 * before);
        return { first, others };
      }).then(({ first, others }) => Promise.all([first, others]));
      expectAllOk(responses.flat());
      const rows = await database.sql<{ xmin: string }>(
        `SELECT xmin::text FROM countersign.${table} WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 11`,
        [workspace],
      );
      expect([rows.length, new Set(rows.map(({ xmin }) => xmin)).size]).toEqual([11, 1]);
      expect(await verifyAuditLedger(servers[0].open.pool, workspace)).toMatchObject({ firstBad: undefined });
    },
  );

  test.for([
    [
      paths.traces,
      'traces',
      () => ({ trace_id: randomUUID(), agent_name: `keyed-${randomUUID()}`, spans: [{ span_id: 'a', kind: 'llm', name: 'm' }] }),
    ],
    [
      paths.telemetry,
      'telemetry_events',
      () => ({ trace_id: randomUUID(), outcome: 'success', agent_name: `keyed-${randomUUID()}` }),
    ],
    [paths.evaluations, 'evaluations', () => ({ name: 'keyed', agent_name: `keyed-${randomUUID()}` })],
    [paths.audit, 'audit_entries', () => ({ actor: 'ci', action: 'test.keyed' })],
  ] as const)(
    '%s: concurrent requests with one Idempotency-Key are stored once and get the same response',
    async ([path, table, makeBody]) => {
      const count = async () =>
        (
          await database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM countersign.${table} WHERE tenant_id = $1`, [
            tenantId,
          ])
        )[0]!.n;
      const before = await count();
      const rounds = await runAtOnce(8, async (round) => {
        const [idempotencyKey, body] = [`${path}-${round}-${randomUUID()}`, makeBody()];
        return runAtOnce(12, (caller) => post(caller, path, body, { 'idempotency-key': idempotencyKey }));
      });
      for (const responses of rounds) {
        expectAllOk(responses);
        expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1);
        expect(new Set(responses.map(({ headers }) => headers.get('countersign-ledger-seq'))).size).toBe(1);
        expect(responses.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
      }
      expect(await count()).toBe(before + 8);
    },
  );

  test('of concurrent requests with different bodies and one Idempotency-Key, one body is stored and the others are rejected', async () => {
    const idempotencyKey = randomUUID();
    const responses = await runAtOnce(16, (caller) =>
      post(caller, paths.evaluations, { name: `body ${caller % 4}` }, { 'idempotency-key': idempotencyKey }),
    );
    const { 200: good = [], 422: rejected = [] } = groupByStatus(responses);
    expect([good.length, rejected.length]).toEqual([4, 12]);
    expect(new Set(good.map(({ body }) => body.id)).size).toBe(1);
    expect(new Set(rejected.map(({ body }) => body.error))).toEqual(new Set(['idempotency_key_reused']));
  });

  test('concurrent submissions of one trace_id form one trace with all spans and their totals', async () => {
    const traceIds = [randomUUID(), randomUUID(), randomUUID()];
    const responses = await runAtOnce(60, (caller) =>
      post(caller >> 1, paths.traces, {
        trace_id: traceIds[caller % 3],
        spans: [1, 2].map((n) => ({
          span_id: `${caller}-${n}`,
          kind: 'llm',
          name: 'm',
          prompt_tokens: caller,
          completion_tokens: n,
          cost_usd: 0.1,
        })),
      }),
    );
    expectAllOk(responses);
    for (const [index, traceId] of traceIds.entries()) {
      const callers = Array.from({ length: 60 }, (_, caller) => caller).filter((caller) => caller % 3 === index);
      const [trace] = await database.sql<{ id: string; numbers: number[] }>(
        `SELECT id, span_count, submission_count, prompt_tokens, completion_tokens, total_tokens, cost_usd::text AS cost_usd,
                (SELECT count(*)::int FROM countersign.spans WHERE tenant_id = $1 AND trace = t.id) AS spans,
                (SELECT array_agg(number ORDER BY number) FROM countersign.trace_submissions
                  WHERE tenant_id = $1 AND trace = t.id) AS numbers
           FROM countersign.traces AS t WHERE tenant_id = $1 AND trace_id = $2`,
        [tenantId, traceId],
      );
      const prompt = callers.reduce((sum, caller) => sum + 2 * caller, 0);
      expect(trace).toMatchObject({
        spans: 40,
        span_count: 40,
        submission_count: 20,
        prompt_tokens: prompt,
        completion_tokens: 60,
        total_tokens: prompt + 60,
        cost_usd: '4',
      });
      expect(trace!.numbers).toEqual(Array.from({ length: 20 }, (_, number) => number + 1));
      expect(new Set(responses.filter((_, caller) => caller % 3 === index).map(({ body }) => body.id))).toEqual(
        new Set([trace!.id]),
      );
    }
  });

  test('of concurrent submissions with the same spans, the last one wins and sets the totals', async () => {
    const traceId = randomUUID();
    const spans = (caller: number) =>
      ['a', 'b', 'c'].map((id, n) => ({ span_id: id, kind: 'tool', name: `by ${caller}`, total_tokens: caller * 10 + n }));
    expectAllOk(
      await runAtOnce(40, (caller) =>
        post(caller, paths.traces, { trace_id: traceId, spans: caller % 4 < 2 ? spans(caller) : spans(caller).reverse() }),
      ),
    );
    const [trace] = await database.sql<{ total_tokens: number; names: string[]; submissions: number[]; last: string }>(
      `SELECT t.total_tokens, array_agg(DISTINCT s.name) AS names, array_agg(DISTINCT s.submission) AS submissions,
              (SELECT document FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = t.id AND number = 40) AS last
         FROM countersign.traces AS t JOIN countersign.spans AS s ON s.tenant_id = $1 AND s.trace = t.id
        WHERE t.tenant_id = $1 AND t.trace_id = $2 GROUP BY t.tenant_id, t.id, t.total_tokens`,
      [tenantId, traceId],
    );
    const lastSpans = JSON.parse(trace!.last).spans as { name: string; total_tokens: number }[];
    expect(trace).toMatchObject({
      submissions: [40],
      names: [lastSpans[0]!.name],
      total_tokens: lastSpans.reduce((sum, span) => sum + span.total_tokens, 0),
    });
  });

  test('register one agent for each name that concurrent requests send, and assign every event to the named agent', async () => {
    const names = Array.from({ length: 12 }, () => `new-${randomUUID()}`);
    const responses = await runAtOnce(96, (caller) => {
      const name = names[caller % 12]!;
      const record = [
        () => post(caller >> 2, paths.traces, { trace_id: randomUUID(), agent_name: name }),
        () => post(caller >> 2, paths.evaluations, { name: 'registers', agent_name: name }),
        () => post(caller >> 2, paths.telemetry, { events: events(caller % 8 < 4 ? names : names.toReversed()) }),
        () => post(caller >> 2, paths.audit, { actor: 'ci', action: 'test.register' }),
      ];
      return record[(caller + (caller >> 4)) % 4]!();
    });
    expectAllOk(responses);
    const agents = await database.sql<{ name: string; n: number }>(
      'SELECT name, count(*)::int AS n FROM countersign.agents WHERE tenant_id = $1 AND name = ANY ($2::text[]) GROUP BY name',
      [tenantId, names],
    );
    expect(agents).toHaveLength(12);
    expect(agents.every(({ n }) => n === 1)).toBe(true);
    const wronglyAssigned = await database.sql(
      `SELECT 1 FROM countersign.telemetry_events AS e LEFT JOIN countersign.agents AS a ON a.tenant_id = e.tenant_id AND a.id = e.agent_id
        WHERE e.session_id = 'registers' AND a.name IS DISTINCT FROM e.trace_id`,
    );
    expect(wronglyAssigned).toEqual([]);
  });

  test('accept a submission that adds an agent to a known run while the other server registers this agent', async () => {
    const runs = Array.from({ length: 24 }, () => ({ trace_id: randomUUID(), agent_name: `late-${randomUUID()}` }));
    expectAllOk(
      await runAtOnce(24, (n) =>
        post(n, paths.traces, { trace_id: runs[n]!.trace_id, spans: [{ span_id: 'a', kind: 'llm', name: 'm' }] }),
      ),
    );
    for (const run of runs) {
      const submission = post(0, paths.traces, { ...run, spans: [{ span_id: 'b', kind: 'llm', name: 'm' }] });
      expectAllOk(await Promise.all([submission, post(1, paths.evaluations, { name: 'late', agent_name: run.agent_name })]));
    }
  });

  test('concurrent promotion checks and audit entries leave the ledger valid and lose no decision', async () => {
    await post(0, paths.evaluations, { name: 'nightly', agent_name: 'mixed', pass_rate: 90 });
    const responses = await runAtOnce(120, (caller) =>
      caller % 3 === 0
        ? post(caller, paths.audit, { actor: 'ci', action: 'test.mixed' })
        : post(caller, paths.promotionCheck, { agent_name: 'mixed', min_pass_rate: caller % 3 === 1 ? 80 : 95 }),
    );
    expectAllOk(responses);
    const decided = responses.filter((_, caller) => caller % 3 !== 0).map(({ body }) => body);
    expect(Object.groupBy(decided, ({ reason }) => reason)).toMatchObject({
      all_conditions_met: { length: 40 },
      pass_rate_below_threshold: { length: 40 },
    });
    const stored = await database.sql<{ seq: number; document: string }>(
      'SELECT seq, document FROM countersign.decisions WHERE tenant_id = $1 ORDER BY seq',
      [tenantId],
    );
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
    const storedById = new Map(stored.map(({ document }) => [JSON.parse(document).decision_id, JSON.parse(document)]));
    for (const body of decided) expect(storedById.get(body.decision_id)).toEqual(body);
    const blockedInLedger = await database.sql<{ id: string }>(
      `SELECT document::json #>> '{metadata,decision_id}' AS id FROM countersign.audit_entries WHERE tenant_id = $1 AND actor = 'promotion-gate'`,
      [tenantId],
    );
    expect(blockedInLedger.map(({ id }) => id).sort()).toEqual(
      decided
        .filter(({ allowed }) => !allowed)
        .map((body) => body.decision_id)
        .sort(),
    );
    await expectValidChain();
  });

  test('a rejected request stores nothing and does not affect the other requests of its batch', async () => {
    const [owned, full] = [randomUUID(), randomUUID()];
    await post(0, paths.traces, { trace_id: owned, agent_name: 'owner' });
    await post(0, paths.traces, {
      trace_id: full,
      spans: [{ span_id: 'a', kind: 'llm', name: 'm', total_tokens: Number.MAX_SAFE_INTEGER }],
    });
    const responses = await runAtOnce(60, (caller) => {
      const spans = [{ span_id: `${caller}`, kind: 'llm', name: 'm', total_tokens: 1 }];
      const body = [
        { trace_id: owned, agent_name: 'stranger', spans },
        { trace_id: full, agent_name: `rejected-${caller}`, spans },
        { trace_id: randomUUID(), agent_name: 'owner', spans },
      ];
      return post(caller >> 2, paths.traces, body[caller % 3]);
    });
    expect(responses.map(({ status }) => status)).toEqual(responses.map((_, caller) => (caller % 3 === 2 ? 200 : 422)));
    expect(await database.sql(`SELECT 1 FROM countersign.agents WHERE name LIKE 'rejected-%'`)).toEqual([]);
    const [stored] = await database.sql(
      'SELECT sum(span_count)::int AS spans, sum(submission_count)::int AS submissions FROM countersign.traces WHERE trace_id = ANY ($1::text[])',
      [[owned, full]],
    );
    expect(stored).toEqual({ spans: 1, submissions: 2 });
  });

  test('a promotion check on one server uses an evaluation that the other server has just acknowledged', async () => {
    await runAtOnce(8, async (agent) => {
      for (let turn = 0; turn < 6; turn += 1) {
        const [passRate, name] = [(agent * 7 + turn * 31) % 100, `checked-${agent}`];
        const evaluated = await post(turn, paths.evaluations, { name: 'nightly', agent_name: name, pass_rate: passRate });
        const { body } = await post(turn + 1, paths.promotionCheck, { agent_name: name, min_pass_rate: passRate });
        expect([body.allowed, body.evaluation_id, body.actual_threshold]).toEqual([true, evaluated.body.id, passRate]);
        expect(body.evaluation_age).toBeGreaterThanOrEqual(0);
      }
    });
  });
});

/** Telemetry of many agents; the trace_id of each event is its agent's name. */
const events = (names: readonly string[]) =>
  names.map((name) => ({ trace_id: name, outcome: 'success', agent_name: name, session_id: 'registers' }));
