import { beforeAll, describe, expect, test, vi } from 'vitest';
import { mintKey, revokeKey } from '../../src/workspace/ingestion-keys.ts';
import { openIncident } from '../../src/workspace/open-incident.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { reseal } from '../harness/sealed.ts';
import { databaseWithShiftedClock, type ShiftedDatabase } from '../harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const EVALUATION = { name: 'nightly', agent_name: 'bot', pass_rate: 95, status: 'passing' };
const INCIDENT = { agent: 'bot', severity: 'high', description: 'wrong answers', recertify: true } as const;
const ENTRY = { actor: 'ci', action: 'test.ran' };

/** The number of rows in each of seven tables that record times. */
async function countRows({ sql }: ShiftedDatabase): Promise<Record<string, number>> {
  const tables = ['audit_entries', 'decisions', 'evaluations', 'key_events', 'incidents', 'approvals', 'idempotency_keys'];
  const [row] = await sql<Record<string, number>>(
    `SELECT ${tables.map((table) => `(SELECT count(*)::int FROM countersign.${table}) AS ${table}`).join(', ')}`,
  );
  return row!;
}

describe('the database clock', () => {
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
    const { status, headers: responseHeaders, body: responseBody } = await server.post(path, key, body, headers);
    return [status, responseBody.error, responseHeaders.has('retry-after')];
  };
  const writes = (): [string, unknown, Record<string, string>?][] => [
    [paths.audit, ENTRY, { 'idempotency-key': 'one' }],
    [paths.evaluations, EVALUATION],
    [paths.promotionCheck, { agent_name: 'bot' }],
  ];
  const waitForRecovery = () =>
    vi.waitUntil(async () => (await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).status === 200, {
      timeout: 40_000,
      interval: 250,
    });

  test.for(['20 years', '-1 hour'])(
    'is not used for writes after a jump of %s: the server rejects writes until the clock is correct again',
    { timeout: 60_000 },
    async (shift) => {
      const before = await countRows(database);
      await database.shiftClock(shift);
      for (const [path, body, headers] of writes())
        expect([path, ...(await send(path, body, headers))]).toEqual([path, 503, 'clock_unsafe', true]);
      await expect(revokeKey(server.open.pool, tenantId, 'aaaaaaaaaaaa', 'operator')).rejects.toMatchObject({
        code: 'clock_unsafe',
      });
      await expect(openIncident(server.open.pool, tenantId, INCIDENT, 'operator')).rejects.toMatchObject({
        code: 'clock_unsafe',
      });
      expect(await countRows(database)).toEqual(before);
      await database.shiftClock('0');
      await waitForRecovery();
      const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
      expect(body.allowed).toBe(true);
      expect(Math.abs(Date.parse(body.timestamp) - Date.now())).toBeLessThan(60_000);
    },
  );
});

test('the server signs no checkpoint while the clock of the database is wrong, and still returns entries and earlier proofs', async () => {
  const database = await databaseWithShiftedClock();
  const server = await testServer({ database, checkpointSeconds: undefined });
  const tenantId = await server.workspace();
  const [key, token] = [
    await server.key(tenantId),
    await mintKey(server.open.pool, tenantId, { name: 'reader', scopes: ['read'], expiresAt: null }, 'operator'),
  ];
  const read = async (path: string) => {
    const response = await fetch(`${server.url}/api/ledger/audit/${path}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    return response.status === 200 ? 200 : [response.status, (JSON.parse(text) as { error: string }).error];
  };
  await server.post(paths.audit, key, ENTRY);
  expect([await read('checkpoint'), await read('inclusion/1')]).toEqual([200, 200]);
  await server.post(paths.audit, key, ENTRY);
  await database.shiftClock('20 years');
  await vi.waitUntil(() => server.open.clock.fault() !== undefined, { timeout: 20_000 });
  expect([await read('checkpoint'), await read('inclusion/2')]).toEqual([
    [503, 'clock_unsafe'],
    [503, 'clock_unsafe'],
  ]);
  expect([await read('inclusion/1'), await read('entries')]).toEqual([200, 200]);
});

describe('a log whose last entry is ahead of the clock', () => {
  const moveHeadAhead = async (server: TestServer, tenantId: string, log: string, shift: string) => {
    await server.database.sql(
      `UPDATE countersign.log_heads SET last_recorded_at = date_trunc('milliseconds', clock_timestamp()) + $3::interval WHERE tenant_id = $1 AND log = $2`,
      [tenantId, log, shift],
    );
    await reseal(server.open.pool, tenantId);
  };
  let server: TestServer;
  beforeAll(async () => {
    server = await testServer();
  });

  test('by 1.5 seconds: the next batch waits and records no time in the future', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    await moveHeadAhead(server, tenantId, 'audit', '1500 milliseconds');
    expect((await server.post(paths.audit, key, ENTRY)).status).toBe(200);
    const [row] = await server.database.sql<{ future: boolean }>(
      `SELECT recorded_at > clock_timestamp() AS future FROM countersign.audit_entries WHERE tenant_id = $1`,
      [tenantId],
    );
    expect(row!.future).toBe(false);
  });

  test('by 20 years: the response names a command, and after this command the workspace accepts writes again', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    expect((await server.post(paths.evaluations, key, EVALUATION)).status).toBe(200);
    for (const log of ['audit', 'decisions', 'keys']) await moveHeadAhead(server, tenantId, log, '20 years');
    const check = () => server.post(paths.promotionCheck, key, { agent_name: 'bot' });
    const { status, body } = await check();
    expect([status, body.error]).toEqual([503, 'clock_unsafe']);
    const [, command] = /`countersign-server ([a-z -]+)`/.exec(body.issues[0].message)!;
    const run = (...args: string[]) =>
      runCommand(environmentOf(server), ...command!.split(' '), '--workspace', tenantId, ...args);
    expect((await run()).status).toBe(0);
    expect((await check()).status).toBe(503);
    expect(await run('--yes')).toMatchObject({ status: 0, out: expect.stringContaining('decisions: after row 0') });
    const { status: statusAfter, body: decision } = await check();
    expect([statusAfter, decision.allowed]).toEqual([200, true]);
    expect(Math.abs(Date.parse(decision.timestamp) - Date.now())).toBeLessThan(60_000);
    expect((await server.post(paths.audit, key, ENTRY)).status).toBe(200);
    await expect(revokeKey(server.open.pool, tenantId, key.slice(8, 20), 'operator')).resolves.toBeUndefined();
    for (const log of ['audit', 'decisions', 'keys'])
      expect((await runCommand(environmentOf(server), 'ledger', 'verify', '--workspace', tenantId, '--log', log)).status).toBe(0);
  });

  test.for(['audit', 'decisions'])(
    'by 20 years in %s: the rejection of a promotion check names the command to run, and other workspaces are not affected',
    async (log) => {
      const [tenantId, otherWorkspace] = [await server.workspace(), await server.workspace()];
      const [key, otherKey] = [await server.key(tenantId), await server.key(otherWorkspace)];
      await moveHeadAhead(server, tenantId, log, '20 years');
      const { status, headers, body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
      expect([status, body.error, headers.get('retry-after')]).toEqual([503, 'clock_unsafe', '60']);
      expect(body.issues[0].message).toContain('countersign-server ledger correct-clock');
      expect((await server.post(paths.promotionCheck, otherKey, { agent_name: 'bot' })).status).toBe(200);
    },
  );
});
