import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { RunIdMerging } from '../../src/background/run-id-merging.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { mergeRunIdSegments } from '../../src/storage/run-id-segments.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const segmentsOf = (server: TestServer, workspace: string) =>
  server.database.sql<{ runs: string[]; trace_ids: string; run_count: number }>(
    'SELECT runs, trace_ids, run_count FROM countersign.run_id_segments WHERE tenant_id = $1',
    [workspace],
  );

/** Sends runs with new IDs. Returns these IDs as they are stored for searches: in lower case. */
async function sendRuns(server: TestServer, workspace: string, runCount: number): Promise<string[]> {
  const key = await server.key(workspace);
  const ids: string[] = [];
  for (let number = 0; number < runCount; number += 1) {
    const trace_id = `Run-${number}-${randomUUID()}`;
    expect((await server.post(paths.traces, key, { trace_id })).status).toBe(200);
    ids.push(trace_id.toLowerCase());
  }
  return ids.sort();
}

test('the server merges the run ID segments of a workspace after 512 batches, but not those of other workspaces', async () => {
  const server = await testServer();
  const [busy, idle] = [await server.workspace(), await server.workspace()];
  const ids = await sendRuns(server, busy, 20);
  await sendRuns(server, idle, 20);
  const merging = new RunIdMerging(server.open.ledgerPool, pino({ level: 'silent' }));
  for (let batch = 1; batch < 512; batch += 1) merging.countBatch(busy);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await segmentsOf(server, busy)).toHaveLength(20);
  merging.countBatch(busy);
  await vi.waitUntil(async () => (await segmentsOf(server, busy)).length === 1, { timeout: 30_000 });
  merging.stop();
  const [segment] = await segmentsOf(server, busy);
  expect(segment!.run_count).toBe(20);
  expect(segment!.trace_ids.split('\x1d').sort()).toEqual(ids);
  expect(await segmentsOf(server, idle)).toHaveLength(20);
});

test('concurrent merges lose no run and duplicate none', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  const ids = await sendRuns(server, workspace, 40);
  const merge = () => inTenantTransaction(server.open.pool, workspace, mergeRunIdSegments);
  await Promise.all([merge(), merge(), merge()]);
  const segments = await segmentsOf(server, workspace);
  expect(segments.flatMap(({ trace_ids }) => trace_ids.split('\x1d')).sort()).toEqual(ids);
  expect(segments.flatMap(({ runs }) => runs)).toHaveLength(40);
});

test('one transaction merges at most 8 MiB of run IDs, and repeated transactions leave fewer than 16 small segments', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  await server.database.sql(
    `INSERT INTO countersign.run_id_segments (tenant_id, source, first_run, last_run, run_count, runs, trace_ids)
     SELECT $1, 'telemetry', id, id, 200, ARRAY[id], array_to_string(array_fill(repeat('😀', 512), ARRAY[200]), E'\\n')
       FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 50)) AS runs`,
    [workspace],
  );
  const before = await segmentsOf(server, workspace);
  const merge = () => inTenantTransaction(server.open.pool, workspace, mergeRunIdSegments);
  expect(await merge()).toBe(true);
  const merged = (await segmentsOf(server, workspace)).filter(({ run_count }) => run_count > 200);
  const mergedBytes = merged.reduce((sum, { trace_ids }) => sum + Buffer.byteLength(trace_ids), 0);
  expect(mergedBytes).toBeGreaterThan(0);
  expect(mergedBytes).toBeLessThanOrEqual(8 * 2 ** 20);
  while (await merge());
  const after = await segmentsOf(server, workspace);
  expect(after.filter(({ run_count }) => run_count <= 200).length).toBeLessThan(16);
  expect(after.flatMap(({ runs }) => runs).sort()).toEqual(before.flatMap(({ runs }) => runs).sort());
});

test('the server adds no segment for a repeated or rejected run', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  await server.post(paths.traces, key, { trace_id: 'once' }, { 'idempotency-key': 'a' });
  await server.post(paths.traces, key, { trace_id: 'once' }, { 'idempotency-key': 'a' });
  await server.post(paths.traces, key, { trace_id: 'once', outcome: 'failure' });
  expect((await server.post(paths.traces, key, { trace_id: 'never', agent_id: randomUUID() })).status).toBe(422);
  expect((await segmentsOf(server, workspace)).map(({ trace_ids }) => trace_ids)).toEqual(['once']);
});
