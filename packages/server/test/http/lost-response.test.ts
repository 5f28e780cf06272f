import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { until } from '../../../embedded-database/test/harness/processes.ts';
import { isDatabaseUnavailable } from '../../src/database/pool.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { type CutPoint, CuttingProxy } from '../fixtures/cutting-proxy.ts';
import { cloneDatabase, type TestDatabase } from '../harness/test-database.ts';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let database: TestDatabase;
let proxy: CuttingProxy;
let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  database = await cloneDatabase();
  proxy = await CuttingProxy.start(database.server);
  // On Citus the proxy is in front of the coordinator, so the server must not write to the other nodes directly.
  const proxied = { ...database, server: { ...database.server, host: proxy.host } };
  server = await testServer({ database: proxied, directWrites: false });
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  // The first use of a key is stored in a separate transaction, which must end before the proxy cuts connections.
  await server.post(paths.audit, key, { actor: 'ci', action: 'test.warm-up' });
  await until(
    'the use of the key is recorded',
    async () => (await database.sql('SELECT 1 FROM countersign.key_last_use')).length === 1,
  );
});

afterAll(async () => {
  await server.stop();
  proxy.stop();
  await database.drop();
});

const kinds = [
  [
    'traces',
    'trace_submissions',
    () => ({ trace_id: randomUUID(), agent_name: randomUUID(), spans: [{ span_id: 'a', kind: 'llm', name: 'm' }] }),
  ],
  ['telemetry', 'telemetry_submissions', () => ({ trace_id: randomUUID(), outcome: 'success' })],
  ['evaluations', 'evaluations', () => ({ name: randomUUID() })],
  [
    'detailedEvaluations',
    'evaluations',
    () => ({ name: randomUUID(), evaluated_at: new Date().toISOString(), cases: { total: 1, passed: 1 } }),
  ],
  ['audit', 'audit_entries', () => ({ actor: 'ci', action: 'test.cut' })],
] as const;

describe.for(kinds)('%s when the database connection breaks', ([kind, table, makeBody]) => {
  const count = async () =>
    (
      await database.sql<{ n: number }>(`SELECT count(*)::int AS n FROM countersign.${table} WHERE tenant_id = $1`, [tenantId])
    )[0]!.n;

  /**
   * Sends ten concurrent requests, each with its own Idempotency-Key, cuts the connections of their batches, and expects 503. Returns
   * functions that send the same requests again.
   */
  async function cutOff(cutPoint: CutPoint): Promise<(() => Promise<TestResponse>)[]> {
    const requests = Array.from({ length: 10 }, () => {
      const [body, idempotencyKey] = [makeBody(), randomUUID()];
      return () => server.post(paths[kind], key, body, { 'idempotency-key': idempotencyKey });
    });
    [proxy.cutPoint, proxy.cutsLeft] = [cutPoint, 10];
    const responses = await Promise.all(requests.map((request) => request()));
    expect(proxy.cutsLeft, 'the remaining cuts').toBeLessThan(10);
    proxy.cutsLeft = 0;
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
    expect(new Set(responses.map(({ headers }) => headers.get('retry-after')))).toEqual(new Set(['1']));
    return requests;
  }

  test('after COMMIT: the server responds with 503 but stores the records; retries with the same keys are replays', async () => {
    const before = await count();
    const requests = await cutOff('after COMMIT');
    await expect.poll(count).toBe(before + 10);
    const retries = await Promise.all(requests.map((request) => request()));
    expect(retries.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual(
      retries.map(() => [200, 'true']),
    );
    expect(await count()).toBe(before + 10);
    expect(await verifyAuditLedger(server.open.pool, tenantId)).toMatchObject({ firstBad: undefined });
  });

  test('before COMMIT: the server responds with 503 and stores nothing; retries with the same keys store the records', async () => {
    const before = await count();
    const requests = await cutOff('before COMMIT');
    expect(await count()).toBe(before);
    const retries = await Promise.all(requests.map((request) => request()));
    expect(retries.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual(
      retries.map(() => [200, null]),
    );
    expect(await count()).toBe(before + 10);
    expect(await verifyAuditLedger(server.open.pool, tenantId)).toMatchObject({ firstBad: undefined });
  });
});

test('requests get 503 with Retry-After while the database accepts no connections', async () => {
  const { database, ...server } = await testServer();
  const key = await server.key(await server.workspace());
  const sendNote = () => server.post(paths.audit, key, { actor: 'me', action: 'note' });
  const maintenanceClient = new pg.Client({ ...inject('cluster').superuser, database: 'postgres' });
  await maintenanceClient.connect();
  const allowConnections = (value: boolean) =>
    maintenanceClient.query(`ALTER DATABASE ${database.server.database} ALLOW_CONNECTIONS ${value}`);
  await allowConnections(false);
  await maintenanceClient.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    database.server.database,
  ]);
  for (let sentCount = 0; sentCount < 3; sentCount += 1) {
    const response = await sendNote();
    expect([response.status, response.headers.has('retry-after')]).toEqual([503, true]);
  }
  await allowConnections(true);
  await vi.waitFor(async () => expect((await sendNote()).status).toBe(200), 10_000);
  await maintenanceClient.end();
});

describe('isDatabaseUnavailable', () => {
  test.for([
    'EPIPE',
    'ECONNRESET',
    'ECONNREFUSED',
    'ENOENT',
    'ETIMEDOUT',
    'EAI_AGAIN',
    '57P01',
    '57P03',
    '57014',
    '53300',
    '55P03',
    '25006',
    '25P03',
    '25P04',
    '08006',
    '28000',
    '28P01',
    '3D000',
    'CERT_HAS_EXPIRED',
  ])('is true for %s', (code) => expect(isDatabaseUnavailable(Object.assign(new Error('x'), { code }))).toBe(true));

  test.for(['23505', '22P02', '42P01', '25P02', '55000', 'ERR_INVALID_ARG_TYPE'])('is false for %s', (code) =>
    expect(isDatabaseUnavailable(Object.assign(new Error('x'), { code }))).toBe(false),
  );

  test('is true for an error that ends the connection, whatever its code is', () => {
    expect(isDatabaseUnavailable(Object.assign(new Error('x'), { code: '55000', severity: 'FATAL' }))).toBe(true);
    expect(isDatabaseUnavailable(Object.assign(new Error('x'), { code: '55000', severity: 'ERROR' }))).toBe(false);
  });

  test("is true for the driver's errors about connections, and false for errors of this project's code", () => {
    expect(isDatabaseUnavailable(new Error('Query read timeout'))).toBe(true);
    expect(isDatabaseUnavailable(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isDatabaseUnavailable(new TypeError("Cannot read properties of undefined (reading 'appended')"))).toBe(false);
    expect(isDatabaseUnavailable(new Error('the statement was closed'))).toBe(false);
  });
});
