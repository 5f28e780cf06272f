import { beforeAll, describe, expect, test, vi } from 'vitest';
import { revokeKey } from '../src/workspace/ingestion-keys.ts';
import { openIncident } from '../src/workspace/open-incident.ts';
import { databaseWithShiftedClock, type ShiftedDatabase } from './bed/shifted-clock.ts';
import { paths, type TestServer, testServer } from './bed/test-server.ts';

const EVALUATION = { name: 'nightly', agent_name: 'bot', pass_rate: 95, status: 'passing' };
const INCIDENT = { agent: 'bot', severity: 'high', description: 'wrong answers', recertify: true } as const;
const ENTRY = { actor: 'ci', action: 'test.ran' };

/** Rows that bear a moment, by table. */
async function rowsOf({ sql }: ShiftedDatabase): Promise<Record<string, number>> {
  const tables = ['audit_entries', 'decisions', 'evaluations', 'key_events', 'incidents', 'approvals', 'idempotency_keys'];
  const [row] = await sql<Record<string, number>>(
    `SELECT ${tables.map((table) => `(SELECT count(*)::int FROM countersign.${table}) AS ${table}`).join(', ')}`,
  );
  return row!;
}

describe("the database's clock", () => {
  let database: ShiftedDatabase;
  let server: TestServer;
  let tenantId: string;
  let key: string;
  beforeAll(async () => {
    database = await databaseWithShiftedClock();
    server = await testServer({ database });
    tenantId = await server.workspace();
    key = await server.key(tenantId);
    expect((await server.post(paths.evaluations, key, EVALUATION)).status).toBe(200);
    expect((await server.post(paths.audit, key, ENTRY)).status).toBe(200);
    expect((await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body.allowed).toBe(true);
  });
  const send = async (path: string, body: unknown, headers?: Record<string, string>) => {
    const { status, headers: answered, body: answer } = await server.post(path, key, body, headers);
    return [status, answer.error, answered.has('retry-after')];
  };
  const writes = (): [string, unknown, Record<string, string>?][] => [
    [paths.audit, ENTRY, { 'idempotency-key': 'one' }],
    [paths.evaluations, EVALUATION],
    [paths.promotionCheck, { agent_name: 'bot' }],
  ];
  const recovered = () =>
    vi.waitUntil(async () => (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).status === 200, {
      timeout: 40_000,
      interval: 250,
    });

  test.for(['20 years', '-1 hour'])(
    'that jumped by %s: no moment is recorded until it is right again',
    { timeout: 60_000 },
    async (by) => {
      const before = await rowsOf(database);
      await database.shiftClock(by);
      for (const [path, body, headers] of writes())
        expect([path, ...(await send(path, body, headers))]).toEqual([path, 503, 'clock_unsafe', true]);
      await expect(revokeKey(server.open.pool, tenantId, 'aaaaaaaaaaaa', 'operator')).rejects.toMatchObject({
        code: 'clock_unsafe',
      });
      await expect(openIncident(server.open.pool, tenantId, INCIDENT, 'operator')).rejects.toMatchObject({
        code: 'clock_unsafe',
      });
      expect(await rowsOf(database)).toEqual(before);
      await database.shiftClock('0');
      await recovered();
      const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
      expect(body.allowed).toBe(true);
      expect(Math.abs(Date.parse(body.timestamp) - Date.now())).toBeLessThan(60_000);
    },
  );
});

describe('a log whose last moment is ahead of the clock', () => {
  const ahead = async (server: TestServer, tenantId: string, log: string, by: string) =>
    server.database.sql(
      `UPDATE countersign.log_heads SET last_recorded_at = date_trunc('milliseconds', clock_timestamp()) + $3::interval WHERE tenant_id = $1 AND log = $2`,
      [tenantId, log, by],
    );
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer();
  });

  test('by a little: the batch waits, and bears no moment of the future', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await ahead(server, tenantId, 'audit', '1500 milliseconds');
    expect((await server.post(paths.audit, key, ENTRY)).status).toBe(200);
    const [row] = await server.database.sql<{ future: boolean }>(
      `SELECT recorded_at > clock_timestamp() AS future FROM countersign.audit_entries WHERE tenant_id = $1`,
      [tenantId],
    );
    expect(row!.future).toBe(false);
  });

  test.for(['audit', 'decisions'])(
    'by more, %s: checks are refused with the command that corrects it, and other workspaces are not',
    async (log) => {
      const [tenantId, other] = [await server.workspace(), await server.workspace()];
      const [key, otherKey] = [await server.key(tenantId), await server.key(other)];
      await ahead(server, tenantId, log, '20 years');
      const { status, headers, body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
      expect([status, body.error, headers.get('retry-after')]).toEqual([503, 'clock_unsafe', '60']);
      expect(body.issues[0].message).toContain('countersign-server ledger correct-clock');
      expect((await server.post(paths.promotionCheck, otherKey, { agent_name: 'bot' })).status).toBe(200);
    },
  );
});
