import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { repeatAfterConflict } from '../../src/database/pool.ts';
import { inTenantTransaction, sql, type Transaction } from '../../src/database/transaction.ts';
import { asApiError } from '../../src/http/error-reply.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  tenantId = await server.workspace();
});

const LOCK = sql('test_lock_head', 'SELECT 1 FROM countersign.log_heads WHERE tenant_id = $1 AND log = $2 FOR UPDATE');
const lock = (tx: Transaction, log: string) => tx.run(LOCK, [tenantId, log]);

/** Runs two transactions that lock two rows in opposite orders. Each locks its second row after both have locked their first row. */
function runInOppositeOrders(run: (work: () => Promise<string>) => Promise<string>): Promise<PromiseSettledResult<string>[]> {
  const firstLocks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const orders = [
    ['audit', 'keys'],
    ['keys', 'audit'],
  ] as const;
  return Promise.allSettled(
    orders.map(([first, second], index) =>
      run(() =>
        inTenantTransaction(server.open.pool, tenantId, async (tx) => {
          await lock(tx, first);
          firstLocks[index]!.resolve();
          await Promise.all(firstLocks.map(({ promise }) => promise));
          await lock(tx, second);
          return first;
        }),
      ),
    ),
  );
}

describe('two deadlocked transactions', () => {
  test('one succeeds, and the other one fails with an error that becomes a 503', async () => {
    const results = await runInOppositeOrders((work) => work());
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { reason } = results.find((result) => result.status === 'rejected')!;
    expect([reason.code, asApiError(reason).status]).toEqual(['40P01', 503]);
  });

  test('both succeed if their work is repeated after a conflict', async () => {
    const results = await runInOppositeOrders((work) => repeatAfterConflict(work));
    expect(results).toMatchObject([{ value: 'audit' }, { value: 'keys' }]);
  });
});

describe('repeatAfterConflict', () => {
  const failingWork = (code: string) => {
    const calls: string[] = [];
    const work = () => {
      calls.push(code);
      return Promise.reject(Object.assign(new pg.DatabaseError('failed', 0, 'error'), { code }));
    };
    return { calls, work };
  };

  test('gives up after three tries', async () => {
    const { calls, work } = failingWork('40001');
    await expect(repeatAfterConflict(work)).rejects.toThrow('failed');
    expect(calls).toHaveLength(3);
  });

  test('does not repeat after another error', async () => {
    const { calls, work } = failingWork('23505');
    await expect(repeatAfterConflict(work)).rejects.toThrow('failed');
    expect(calls).toHaveLength(1);
  });
});
