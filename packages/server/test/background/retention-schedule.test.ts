import pino from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { startRetention } from '../../src/background/retention-schedule.ts';
import { setRetention } from '../../src/workspace/set-retention.ts';
import { paths, testServer } from '../harness/test-server.ts';

const server = await testServer({ checkpointSeconds: undefined });
const LATER = new Date(Date.now() + 400 * 86_400_000).toISOString();
let lines: { level: number; msg: string; tenantId?: string }[] = [];
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });

beforeEach(() => {
  lines = [];
});

async function createWorkspaceWithTrace(): Promise<string> {
  const tenantId = await server.workspace();
  await setRetention(server.open.pool, tenantId, { traceDays: 365, isShortConfirmed: false }, 'operator');
  const trace = { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] };
  expect((await server.post(paths.traces, await server.key(tenantId), trace)).status).toBe(200);
  return tenantId;
}

const countTraces = async (tenantId: string) =>
  (await server.database.sql('SELECT id FROM countersign.traces WHERE tenant_id = $1', [tenantId])).length;

test('the schedule drops the due records of every workspace and logs one line per workspace that had due records', async () => {
  const tenants = [await createWorkspaceWithTrace(), await server.workspace(), await createWorkspaceWithTrace()];
  const schedule = startRetention(server.open, log);
  await schedule.round();
  expect([await countTraces(tenants[0]!), lines]).toEqual([1, []]);
  await schedule.round(LATER);
  schedule.stop();
  expect([await countTraces(tenants[0]!), await countTraces(tenants[2]!)]).toEqual([0, 0]);
  expect(lines.map(({ msg, tenantId }) => [msg, tenantId]).sort()).toEqual(
    [tenants[0], tenants[2]].map((id) => ['dropped records whose retention period is over', id]).sort(),
  );
});

test('if retention periods were changed in the database, the schedule warns, and drops only records of other workspaces', async () => {
  const tenants = [await createWorkspaceWithTrace(), await createWorkspaceWithTrace()];
  await server.database.sql('ALTER TABLE countersign.retention_periods DISABLE TRIGGER append_only');
  await server.database.sql('UPDATE countersign.retention_periods SET trace_days = 1 WHERE tenant_id = $1', [tenants[0]]);
  await server.database.sql('ALTER TABLE countersign.retention_periods ENABLE ALWAYS TRIGGER append_only');
  const schedule = startRetention(server.open, log);
  await schedule.round(LATER);
  schedule.stop();
  expect([await countTraces(tenants[0]!), await countTraces(tenants[1]!)]).toEqual([1, 0]);
  expect(lines.find(({ level }) => level === 40)).toMatchObject({
    tenantId: tenants[0],
    msg: expect.stringContaining('did not finish'),
  });
});

test('the schedule logs the command to run if the server may not delete records', async () => {
  const tenantId = await createWorkspaceWithTrace();
  const schedule = startRetention({ ...server.open, owner: server.database.server }, log);
  await schedule.round(LATER);
  schedule.stop();
  expect(await countTraces(tenantId)).toBe(1);
  expect(lines.find((line) => line.tenantId === tenantId)!.msg).toContain('countersign-server retention run');
});
