import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { inTenantTransaction, type Transaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { appendEntries, entryOf } from '../../src/ledger/append.ts';
import { dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { eraseRun } from '../../src/retention/erase-run.ts';
import { newId } from '../../src/storage/new-id.ts';
import { insertEvaluatedRuns } from '../../src/storage/run-holds.ts';
import { setRetention } from '../../src/workspace/set-retention.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let pool: Pool;
let tenantId = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  pool = openRolePool(server.database.owner, server.open, 'retention');
});
afterAll(() => pool.end());
beforeEach(async () => {
  tenantId = await server.workspace(`w-${Math.random()}`);
  await setRetention(server.open.pool, tenantId, { isShortConfirmed: false, traceDays: 365, telemetryDays: 365 }, 'operator');
});

/** Functions that write a record that keeps the run `held`. Like the endpoints, they first lock the head of the record's log. */
const HOLDS = {
  evaluation: async (tx: Transaction) => {
    await lockLogs(tx, ['evidence']);
    insertEvaluatedRuns(tx, [{ id: newId(), traceIds: ['held'] }]);
  },
  'audit entry': async (tx: Transaction) => {
    const { audit } = await lockLogs(tx, ['audit']);
    const entry = entryOf({ recorded_by: 'key:0123456789ab', actor: 'me', action: 'note' as never });
    appendEntries(tx, audit, [{ ...entry, trace_id: 'held', retention_until: '9999-12-31' }]);
  },
};

/** Writes a record that keeps the run. Commits the record when `work` waits for the lock of the log. Returns the result of `work`. */
async function runWhileWriting<T>(hold: keyof typeof HOLDS, work: () => Promise<T>): Promise<T> {
  let result: Promise<T> | undefined;
  await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
    await HOLDS[hold](tx);
    result = work();
    result.catch(() => undefined);
    await waitForBlockedStatements(server.database);
  });
  return result!;
}

const count = async (table: string) =>
  (
    await server.database.sql<{ n: number }>(`SELECT count(*) AS n FROM countersign.${table} WHERE tenant_id = $1`, [tenantId])
  )[0]!.n;
const send = async (path: string, body: object) =>
  expect((await server.post(path, await server.key(tenantId), body)).status).toBe(200);
const sendTrace = (traceId: string) => send(paths.traces, { trace_id: traceId, agent_name: 'bot', spans: [] });
const sendTelemetry = (traceId: string) => send(paths.telemetry, { trace_id: traceId, outcome: 'success' });
const drop = () => dropDueRecords(pool, tenantId, { now: new Date(Date.now() + 366 * 86_400_000).toISOString() });

describe.each(['evaluation', 'audit entry'] as const)('while an %s that keeps a run is written', (hold) => {
  test('retention keeps the run, and drops another run', async () => {
    for (const traceId of ['held', 'free']) await sendTrace(traceId);
    expect(await runWhileWriting(hold, drop)).toMatchObject({ traces: 1, held: 1 });
    expect(await count('traces')).toBe(1);
  });

  test('retention keeps the telemetry of the run, and drops the telemetry of another run', async () => {
    for (const traceId of ['held', 'free']) await sendTelemetry(traceId);
    expect(await runWhileWriting(hold, drop)).toMatchObject({ telemetry: 1, held: 1 });
    expect([await count('telemetry_submissions'), await count('telemetry_events')]).toEqual([1, 1]);
  });

  test('the run is erased only with the option evenIfHeld', async () => {
    await sendTrace('held');
    await sendTelemetry('held');
    const request = { traceId: 'held', rationale: 'request 7' };
    const erasing = runWhileWriting(hold, () => eraseRun(pool, tenantId, { ...request, evenIfHeld: false }));
    await expect(erasing).rejects.toThrow('must be kept');
    expect([await count('traces'), await count('telemetry_events')]).toEqual([1, 1]);
    expect(await eraseRun(pool, tenantId, { ...request, evenIfHeld: true })).toMatchObject({
      submissions: 1,
      telemetryEvents: 1,
    });
  });
});
