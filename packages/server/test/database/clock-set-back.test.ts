import { beforeAll, expect, test, vi } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { newId } from '../../src/storage/new-id.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

test('after the database clock was set back, a promotion check uses the evaluation that was recorded last', async () => {
  const key = await server.key(await server.workspace());
  const evaluate = (status: string) =>
    server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95, status });
  await evaluate('passing');
  await setEvaluationTime(server, 'bot', `clock_timestamp() + interval '2 seconds'`);
  await evaluate('failing');
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const { body } = await server.post(paths.promotionCheck, key, { agent_name: 'bot' });
  expect([body.allowed, body.reason]).toEqual([false, 'evaluation_not_passing']);
});

test('a transaction that waits for the lock of a head reads the clock after the wait', async () => {
  const workspace = await server.workspace();
  const { pool } = server.open;
  let clockOfWaiter: Promise<string> | undefined;
  let timeDuringWait = '';
  const holding = inTenantTransaction(pool, workspace, async (holder) => {
    await lockLogs(holder, ['audit']);
    clockOfWaiter = inTenantTransaction(pool, workspace, async (tx) => (await lockLogs(tx, ['audit'])).audit.clock);
    await waitForBlockedStatements(server.database);
    const [row] = await server.database.sql<{ now: Date }>(`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`);
    timeDuringWait = row!.now.toISOString();
    throw new Error('rolled back'); // the row does not change, so PostgreSQL does not evaluate the waiting statement again
  });
  await expect(holding).rejects.toThrow('rolled back');
  expect((await clockOfWaiter!) >= timeDuringWait).toBe(true);
});

test('IDs follow the clock of the process if it is set back by an hour, but not if it is set back by a second', () => {
  const msOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
  const now = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(now + 3_600_000);
  const idBefore = newId();
  vi.mocked(Date.now).mockReturnValue(now + 3_599_000);
  const idAfterSecond = newId();
  vi.mocked(Date.now).mockReturnValue(now);
  const idAfterHour = newId();
  vi.restoreAllMocks();
  expect([msOf(idBefore), msOf(idAfterSecond), msOf(idAfterHour)]).toEqual([now + 3_600_000, now + 3_600_000, now]);
  expect(idAfterSecond > idBefore).toBe(true);
});
