import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { startHousekeeping } from '../../src/background/housekeeping.ts';
import type { Clock } from '../../src/database/clock.ts';
import type { FairPool } from '../../src/database/pool.ts';
import { paths, testServer } from '../harness/test-server.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('ten minutes after its start, housekeeping deletes expired stored responses, even if this fails in another workspace', async () => {
  const server = await testServer();
  const { sql } = server.database;
  const keysOf = async (workspace: string) =>
    (
      await sql<{ key: string }>('SELECT key FROM countersign.idempotency_keys WHERE tenant_id = $1 ORDER BY key', [workspace])
    ).map(({ key }) => key);
  const createWorkspaceWithStoredResponses = async (name: string) => {
    const workspace = await server.workspace(name);
    const key = await server.key(workspace);
    for (const age of ['new', 'old']) {
      const response = await server.post(paths.audit, key, { actor: 'ci', action: 'test.ran' }, { 'idempotency-key': age });
      expect(response.status).toBe(200);
    }
    await sql(
      `UPDATE countersign.idempotency_keys SET created_at = created_at - interval '25 hours' WHERE tenant_id = $1 AND key = 'old'`,
      [workspace],
    );
    return workspace;
  };
  const [failing, working] = [
    await createWorkspaceWithStoredResponses('failing'),
    await createWorkspaceWithStoredResponses('working'),
  ];
  await sql(`CREATE FUNCTION fail_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'deletion failed'; END $$`);
  await sql(`CREATE TRIGGER fail_deletion BEFORE DELETE ON countersign.idempotency_keys FOR EACH ROW
               WHEN (OLD.tenant_id = '${failing}') EXECUTE FUNCTION fail_deletion()`);

  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const housekeeping = startHousekeeping(server.open, { merge: async () => undefined }, log);
  vi.advanceTimersByTime(10 * 60_000 - 1);
  await sleep(100);
  expect(await keysOf(working)).toEqual(['new', 'old']);
  vi.advanceTimersByTime(1);
  await vi.waitUntil(async () => (await keysOf(working)).length === 1, { timeout: 10_000 });
  housekeeping.stop();
  expect([await keysOf(working), await keysOf(failing)]).toEqual([['new'], ['new', 'old']]);
  expect(lines).toEqual([
    expect.objectContaining({ what: `stored responses and waiting log records of ${failing}`, reason: 'deletion failed' }),
  ]);
});

/** A pool whose queries wait until `release` is called, and then return `workspaceCount` workspaces. It opens no connections. */
function slowPool(workspaceCount: number) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let queryCount = 0;
  const pool = {
    query: async () => {
      queryCount += 1;
      await released;
      return { rows: Array.from({ length: workspaceCount }, () => ({ id: randomUUID() })), rowCount: 0 };
    },
    connect: async () => {
      throw new Error('Cannot use a pool after calling end on the pool');
    },
  };
  return { pool: pool as unknown as FairPool, release, countQueries: () => queryCount };
}

test('housekeeping starts no round while another one runs, and logs nothing after it was stopped', async () => {
  const { pool, release, countQueries } = slowPool(3);
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const clock = { fault: () => undefined } as unknown as Clock;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const housekeeping = startHousekeeping({ ledgerPool: pool, clock }, { merge: async () => undefined }, log);
  vi.advanceTimersByTime(10 * 60_000);
  const firstRoundQueries = countQueries();
  vi.advanceTimersByTime(30 * 60_000);
  await sleep(10);
  expect(countQueries()).toBe(firstRoundQueries);
  housekeeping.stop();
  release();
  await sleep(50);
  expect(lines).toEqual([]);
});
