import { beforeAll, expect, test, vi } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { newId } from '../../src/storage/new-id.ts';
import { evaluatedAt } from '../harness/backdate.ts';
import { waitingForALock } from '../harness/lock-wait.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

test("of the database: an agent's latest evaluation is still the one that was recorded last", async () => {
  const key = await server.key(await server.workspace());
  const evaluate = (status: string) =>
    server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95, status });
  await evaluate('passing');
  await evaluatedAt(server, 'bot', `clock_timestamp() + interval '2 seconds'`);
  await evaluate('failing');
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
  expect([body.allowed, body.reason]).toEqual([false, 'evaluation_not_passing']);
});

test('of the database, for a head whose lock was waited for: it is that of the end of the waiting', async () => {
  const workspace = await server.workspace();
  const { pool } = server.open;
  let waited: Promise<string> | undefined;
  let before = '';
  const holding = inTenantTransaction(pool, workspace, async (holder) => {
    await lockLogs(holder, ['audit']);
    waited = inTenantTransaction(pool, workspace, async (tx) => (await lockLogs(tx, ['audit'])).audit.clock);
    await waitingForALock(server.database);
    const [row] = await server.database.sql<{ now: Date }>(`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`);
    before = row!.now.toISOString();
    throw new Error('rolled back'); // the row is as it was, so that what was computed of it could be kept
  });
  await expect(holding).rejects.toThrow('rolled back');
  expect((await waited!) >= before).toBe(true);
});

test('of this process: ids follow it, so that they stay where their moments are', () => {
  const msOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  const now = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(now + 3_600_000);
  const ahead = newId();
  vi.mocked(Date.now).mockReturnValue(now + 3_599_000);
  const alittle = newId();
  vi.mocked(Date.now).mockReturnValue(now);
  const back = newId();
  vi.restoreAllMocks();
  expect([msOf(ahead), msOf(alittle), msOf(back)]).toEqual([now + 3_600_000, now + 3_600_000, now]);
  expect(alittle > ahead).toBe(true);
});
