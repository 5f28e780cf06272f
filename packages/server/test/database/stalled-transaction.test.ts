import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

const append = (key: string) => server.post(paths.audit, key, { actor: 'ci', action: 'after.it' });
const check = (key: string) => server.post(paths.promotionCheck, key, { agent_name: 'a' });

/** The number of this server's connections that wait for a lock. */
async function countLockWaits(): Promise<number> {
  const rows = await server.database.sql(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'countersign-%' AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

describe.concurrent('an idle transaction that locks the head of a ledger', () => {
  test('loses the lock when it is a transaction of the server, and the next request succeeds', async () => {
    const workspace = await server.workspace();
    const key = await server.key(workspace);
    const stalled = inTenantTransaction(server.open.ledgerPool, workspace, async (tx) => {
      await lockLogs(tx, ['audit']);
      await sleep(13_000);
      await tx.commit();
    });
    const [stalledError, appended] = await Promise.all([
      stalled.catch((error: Error) => error),
      sleep(500).then(() => append(key)),
    ]);
    expect(stalledError).toMatchObject({
      name: 'OutcomeUnknownError',
      message: 'the outcome of COMMIT is unknown: Client has encountered a connection error and is not queryable',
    });
    expect(appended.status).toBe(200);
  });

  test('makes the server respond with 503 when it is a transaction of another client, and no connection waits afterwards', async () => {
    const workspace = await server.workspace();
    const key = await server.key(workspace);
    const otherClient = new pg.Client({ ...inject('cluster').superuser, database: server.database.server.database });
    await otherClient.connect();
    await otherClient.query('BEGIN');
    await otherClient.query('SELECT 1 FROM countersign.log_heads WHERE tenant_id = $1 FOR UPDATE', [workspace]);
    const responses = await Promise.all([append(key), check(key)]);
    expect(responses.map(({ status, body }) => [status, body.error])).toEqual(responses.map(() => [503, 'unavailable']));
    expect(await countLockWaits()).toBe(0);
    await otherClient.query('COMMIT');
    await otherClient.end();
    expect((await append(key)).status).toBe(200);
  });
});
