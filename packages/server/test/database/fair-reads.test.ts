import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { FairTurns } from '../../src/database/fair-turns.ts';
import { portalClient } from '../harness/portal-client.ts';
import type { TestDatabase } from '../harness/test-database.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const VIEWERS = 64;
/** The ID of the advisory lock that the blocked reads of a test wait for. */
const READ_LOCK = 7_707;

describe('blocked reads of one tenant', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await testServer();
  });

  test('do not block reads of another tenant, in the portal and in exports', { timeout: 60_000 }, async () => {
    const [busy, other] = [await server.workspace(), await server.workspace()];
    const [viewer, otherViewer] = [await portalClient(server, busy, 'viewer'), await portalClient(server, other, 'viewer')];
    const release = await blockReadsOf(server, busy);
    let isStopped = false;
    const statuses: number[] = [];
    const viewers = Array.from({ length: VIEWERS }, async (_, turn) => {
      while (!isStopped) {
        const { status } = await viewer.callRoute(turn % 2 === 0 ? 'ledger.list' : 'ledger.export');
        if (status === 503 && !isStopped) await sleep(100);
        statuses.push(status);
      }
    });
    while ((await countBlockedReads(server)) < 2) await sleep(50);
    for (let turn = 0; turn < 10; turn += 1) {
      const reads = await Promise.all([
        otherViewer.callRoute('ledger.list'),
        otherViewer.callRoute('overview.read'),
        otherViewer.callRoute('runs.list'),
        otherViewer.browser.call('GET', `/workspaces/${other}/ledger/export`),
      ]);
      expect(reads.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    isStopped = true;
    await release();
    await Promise.all(viewers);
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect((await viewer.callRoute('ledger.list')).status).toBe(200);
  });
});

test('blocked session lookups of one workspace block neither its senders nor another workspace', async () => {
  const server = await testServer();
  const [busy, other] = [await server.workspace(), await server.workspace()];
  const [viewer, otherViewer] = [await portalClient(server, busy, 'viewer'), await portalClient(server, other, 'viewer')];
  const key = await server.key(busy);
  const release = await blockSessionsOf(server, busy);
  const waitingReads = Array.from({ length: 20 }, () => viewer.callRoute('overview.read'));
  await sleep(300);
  expect((await server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' })).status).toBe(200);
  expect((await otherViewer.callRoute('overview.read')).status).toBe(200);
  await release();
  expect((await Promise.all(waitingReads)).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
});

/** Makes session lookups for members of a tenant wait for a lock. Returns a function that releases the lock. */
async function blockSessionsOf({ database }: TestServer, tenant: string): Promise<() => Promise<void>> {
  await database.sql(
    `CREATE POLICY block_reads ON countersign.memberships AS RESTRICTIVE FOR SELECT
      USING (current_setting('countersign.tenant_id') <> '${tenant}' OR pg_advisory_xact_lock_shared(${READ_LOCK}) IS NOT NULL)`,
  );
  return holdLock(database);
}

/** Makes every read of a tenant's audit entries and log heads wait for a lock. Returns a function that releases the lock. */
async function blockReadsOf({ database }: TestServer, tenant: string): Promise<() => Promise<void>> {
  await database.sql(
    `INSERT INTO countersign.log_heads (tenant_id, log, seq, seal) VALUES ('${tenant}', 'audit', 1, decode(repeat('00', 33), 'hex')) ON CONFLICT DO NOTHING`,
  );
  for (const table of ['audit_entries', 'log_heads'])
    await database.sql(
      `CREATE POLICY block_reads ON countersign.${table} AS RESTRICTIVE FOR SELECT
        USING (current_setting('countersign.tenant_id') <> '${tenant}' OR pg_advisory_xact_lock_shared(${READ_LOCK}) IS NOT NULL)`,
    );
  return holdLock(database);
}

/** Acquires the lock that the blocked reads wait for. Returns a function that releases it. */
async function holdLock(database: TestDatabase): Promise<() => Promise<void>> {
  const holder = new pg.Client({ ...inject('cluster').superuser, database: database.server.database });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [READ_LOCK]);
  return () => holder.end();
}

const countBlockedReads = async ({ database }: TestServer): Promise<number> =>
  (
    await database.sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory' AND application_name LIKE 'countersign-%'`,
    )
  ).length;

describe('FairTurns', () => {
  const bounds = { size: 3, waitingOfOneMax: 4, waitingMax: 6, waitMs: 60_000 };
  const stateOf = async <T>(promise: Promise<T>): Promise<'waiting' | 'refused' | T> =>
    Promise.race([promise.catch(() => 'refused' as const), sleep(10).then(() => 'waiting' as const)]);

  test('does not give the last free turn to a busy owner, and gives it to another owner at once', async () => {
    const turns = new FairTurns(bounds);
    await Promise.all([turns.take('a'), turns.take('a')]);
    expect(await stateOf(turns.take('a'))).toBe('waiting');
    expect(await stateOf(turns.take('b'))).toBeTypeOf('function');
    expect(turns.waiting).toBe(1);
  });

  test('gives a free turn to the owner with the fewest turns, regardless of the order in the queue', async () => {
    const turns = new FairTurns(bounds);
    const releases = await Promise.all([turns.take('a'), turns.take('a'), turns.take('b')]);
    const order: string[] = [];
    // Two of these five callers get no turn in this test. Their later rejection is ignored.
    const queued = ['a', 'a', 'a', 'b', 'c'].map((name) =>
      turns.take(name).then(
        () => order.push(name),
        () => undefined,
      ),
    );
    for (const release of releases) release();
    await sleep(10);
    // The first free turn goes to c, which has no turn. Then a and b have released their turns, so each gets a new one.
    expect(order).toHaveLength(3);
    expect(new Set(order)).toEqual(new Set(['a', 'b', 'c']));
    expect(queued).toHaveLength(5);
  });

  test('rejects reads of an owner with the maximum number of waiting reads, and still queues reads of other owners', async () => {
    const turns = new FairTurns(bounds);
    await Promise.all([turns.take('a'), turns.take('a'), turns.take('b')]);
    const statesOfA = Array.from({ length: 5 }, () => stateOf(turns.take('a')));
    expect(await Promise.all(statesOfA)).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'refused']);
    const statesOfOthers = ['b', 'c', 'd'].map((name) => stateOf(turns.take(name)));
    expect(await Promise.all(statesOfOthers)).toEqual(['waiting', 'waiting', 'waiting']);
    expect(turns.waiting).toBe(6);
  });

  test('rejects a read that waits too long and frees its place; a second release has no effect', async () => {
    const turns = new FairTurns({ ...bounds, waitMs: 20 });
    const release = await turns.take('a');
    await turns.take('a');
    await expect(turns.take('a')).rejects.toMatchObject({ code: 'unavailable', headers: { 'Retry-After': '1' } });
    expect(turns.waiting).toBe(0);
    release();
    release();
    expect(await stateOf(turns.take('a'))).toBeTypeOf('function');
    expect(await stateOf(turns.take('a'))).toBe('waiting');
  });
});
