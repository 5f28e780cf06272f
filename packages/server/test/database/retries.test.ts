import { randomUUID } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { IDEMPOTENCY_KEYS } from '../../src/storage/idempotency.ts';
import { resealRows } from '../harness/sealed.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let otherServer: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  otherServer = await testServer({ database: server.database });
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

/** Four endpoints that store records, each with its table and a body. */
const ENDPOINTS = [
  [paths.traces, 'trace_submissions', { trace_id: 'run', spans: [{ span_id: 'a', kind: 'llm', name: 'n', total_tokens: 3 }] }],
  [paths.telemetry, 'telemetry_events', { events: [{ trace_id: 'run', outcome: 'success' }] }],
  [paths.evaluations, 'evaluations', { name: 'nightly', agent_name: 'support-bot' }],
  [paths.audit, 'audit_entries', { actor: 'ci', action: 'agent.promoted' }],
] as const;
const AUDIT = { actor: 'ci', action: 'test.retried' };

const send = (path: string, body: unknown, idempotencyKey: string, target = server, ingestionKey = key, headers = {}) =>
  target.post(path, ingestionKey, body, { 'idempotency-key': idempotencyKey, ...headers });
const count = async (table: string, tenant = tenantId) =>
  (
    await server.database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM countersign.${table} WHERE tenant_id = $1`, [tenant])
  )[0]!.n;
const replayedHeader = ({ headers }: TestResponse) => headers.get('idempotent-replayed');
const ledgerSeqOf = ({ headers }: TestResponse) => headers.get('countersign-ledger-seq');

describe('Idempotency-Key', () => {
  test.each(ENDPOINTS)(
    '%s: a repeated key and body get the first response, also from another server, and store nothing',
    async (path, table, body) => {
      const id = randomUUID();
      const before = await count(table);
      const first = await send(path, body, id);
      expect([first.status, replayedHeader(first)]).toEqual([200, null]);
      for (const target of [server, otherServer, server]) {
        const repeated = await send(path, body, id, target);
        expect([repeated.status, replayedHeader(repeated), ledgerSeqOf(repeated)]).toEqual([200, 'true', ledgerSeqOf(first)]);
        expect(repeated.body).toEqual(first.body);
      }
      expect(await count(table)).toBe(before + 1);
    },
  );

  test.each(ENDPOINTS)('%s: concurrent requests with one key to two servers are stored once', async (path, table, body) => {
    const id = randomUUID();
    const before = await count(table);
    const responses = await Promise.all(Array.from({ length: 10 }, (_, n) => send(path, body, id, n % 2 ? server : otherServer)));
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(new Set(responses.map(({ body: responseBody }) => JSON.stringify(responseBody))).size).toBe(1);
    expect(responses.filter((response) => replayedHeader(response) === null)).toHaveLength(1);
    expect(await count(table)).toBe(before + 1);
  });

  test('is rejected with another body, and the first response stays stored', async () => {
    const id = randomUUID();
    const first = await send(paths.audit, AUDIT, id);
    for (const otherBody of [{ ...AUDIT, subject: 'x' }, JSON.stringify(AUDIT, null, 1), `${JSON.stringify(AUDIT)}\n`]) {
      const rejected = await send(paths.audit, otherBody, id);
      expect([rejected.status, rejected.body.error]).toEqual([422, 'idempotency_key_reused']);
      expect(rejected.body.issues).toMatchObject([
        { path: '', code: 'other_body', message: expect.stringMatching(/repeat a request with the same bytes$/) },
      ]);
    }
    expect((await send(paths.audit, AUDIT, id)).body).toEqual(first.body);
  });

  test('is bound to the decompressed body, whatever its encoding', async () => {
    const id = randomUUID();
    const text = JSON.stringify(AUDIT);
    const first = await send(paths.audit, text, id);
    for (const [body, encoding] of [
      [gzipSync(text), 'gzip'],
      [gzipSync(text, { level: 1 }), 'gzip'],
      [deflateSync(text), 'deflate'],
    ] as const) {
      const repeated = await send(paths.audit, body, id, server, key, { 'content-encoding': encoding });
      expect([replayedHeader(repeated), repeated.body]).toEqual(['true', first.body]);
    }
  });

  test('is separate for each path', async () => {
    const id = randomUUID();
    for (const [path, , body] of ENDPOINTS) expect(replayedHeader(await send(path, body, id))).toBeNull();
    for (const [path, , body] of ENDPOINTS) expect(replayedHeader(await send(path, body, id))).toBe('true');
  });

  test('is shared by the ingestion keys of a workspace and separate for each workspace', async () => {
    const id = randomUUID();
    const first = await send(paths.audit, AUDIT, id);
    expect((await send(paths.audit, AUDIT, id, server, await server.key(tenantId))).body).toEqual(first.body);
    const otherWorkspace = await server.workspace();
    const otherResponse = await send(
      paths.audit,
      { ...AUDIT, subject: 'elsewhere' },
      id,
      server,
      await server.key(otherWorkspace),
    );
    expect([otherResponse.status, replayedHeader(otherResponse), ledgerSeqOf(otherResponse)]).toEqual([200, null, '1']);
  });

  test('is case-sensitive and compared exactly', async () => {
    for (const id of ['case', 'CASE', 'case-', "it's; --", '%'])
      expect(replayedHeader(await send(paths.audit, AUDIT, id))).toBeNull();
  });

  test('a rejection is not stored: the same key works with a corrected body', async () => {
    const id = randomUUID();
    const rejected = [{ actor: 'ci' }, '{"actor":', { ...AUDIT, agent_id: randomUUID() }, { ...AUDIT, subject: 7 }];
    for (const body of rejected) expect((await send(paths.audit, body, id)).status).toBe(422);
    expect(await count('idempotency_keys')).toBe(await countOtherKeys(id));
    const accepted = await send(paths.audit, AUDIT, id);
    expect([accepted.status, replayedHeader(accepted)]).toEqual([200, null]);
  });

  test('a rejection that depends on stored records is not stored: a repeated request is checked again', async () => {
    const [id, agent] = [randomUUID(), randomUUID()];
    const evaluation = { name: 'n', agent_id: agent };
    expect((await send(paths.evaluations, evaluation, id)).status).toBe(422);
    await server.post(paths.traces, key, { trace_id: randomUUID(), agent_id: agent, agent_name: agent });
    expect((await send(paths.evaluations, evaluation, id)).status).toBe(200);
  });

  test('expires after 24 hours and not before', async () => {
    const id = randomUUID();
    const first = await send(paths.audit, AUDIT, id);
    const setAge = async (interval: string) => {
      await server.database.sql(
        `UPDATE countersign.idempotency_keys SET created_at = clock_timestamp() - $2::interval WHERE key = $1`,
        [id, interval],
      );
      await resealRows(server, IDEMPOTENCY_KEYS, 't.key = $1', [id]);
    };
    await setAge('23 hours 59 minutes');
    expect(replayedHeader(await send(paths.audit, AUDIT, id))).toBe('true');
    expect((await send(paths.audit, { ...AUDIT, subject: 'x' }, id)).status).toBe(422);
    await setAge('24 hours');
    const newResponse = await send(paths.audit, { ...AUDIT, subject: 'x' }, id);
    expect([newResponse.status, replayedHeader(newResponse), Number(ledgerSeqOf(newResponse))]).toEqual([
      200,
      null,
      Number(ledgerSeqOf(first)) + 1,
    ]);
    expect((await send(paths.audit, { ...AUDIT, subject: 'x' }, id)).body).toEqual(newResponse.body);
  });

  test('a replay returns the original response after later changes', async () => {
    const id = randomUUID();
    const body = { trace_id: randomUUID(), spans: [{ span_id: 'a', kind: 'llm', name: 'n', total_tokens: 1 }] };
    const first = await send(paths.traces, body, id);
    await server.post(paths.traces, key, { trace_id: body.trace_id, total_tokens: 99, spans: [] });
    expect((await send(paths.traces, body, id)).body).toEqual(first.body);
    expect((await server.post(paths.traces, key, { trace_id: body.trace_id })).body.tokens).toBe(99);
  });

  test('a replay also requires a valid ingestion key with the scope of the endpoint', async () => {
    const id = randomUUID();
    await send(paths.audit, AUDIT, id);
    expect((await send(paths.audit, AUDIT, id, server, await server.key(tenantId, ['telemetry']))).status).toBe(401);
    expect((await send(paths.audit, AUDIT, id, server, 'aa_live_none')).status).toBe(401);
  });
});

test('without an Idempotency-Key, a repeated request is stored again, and a repeated trace_id stays one trace', async () => {
  const before = await Promise.all(ENDPOINTS.map(([, table]) => count(table)));
  const traces = await count('traces');
  for (let sentCount = 0; sentCount < 2; sentCount += 1)
    for (const [path, , body] of ENDPOINTS) expect(replayedHeader(await server.post(path, key, body))).toBeNull();
  expect(await Promise.all(ENDPOINTS.map(([, table]) => count(table)))).toEqual(before.map((n) => n + 2));
  expect(await count('traces')).toBe(traces);
});

/** The number of stored idempotency keys other than `id`. */
async function countOtherKeys(id: string): Promise<number> {
  const sql = 'SELECT count(*)::int AS n FROM countersign.idempotency_keys WHERE tenant_id = $1 AND key <> $2';
  return (await server.database.sql<{ n: number }>(sql, [tenantId, id]))[0]!.n;
}
