import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import pino from 'pino';
import { expect, test, vi } from 'vitest';
import { RunIdMerging } from '../../src/background/run-id-merging.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { mergeRunIdSegments } from '../../src/storage/run-id-segments.ts';
import { insertManyRecords } from '../fixtures/many-records.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const segmentsOf = (server: TestServer, workspace: string) =>
  server.database.sql<{ runs: string[]; trace_ids: string; run_count: number }>(
    'SELECT runs, trace_ids, run_count FROM countersign.run_id_segments WHERE tenant_id = $1',
    [workspace],
  );

async function send(server: TestServer, workspace: string, runs: number): Promise<string[]> {
  const key = await server.key(workspace);
  const ids: string[] = [];
  for (let sent = 0; sent < runs; sent += 1) {
    const trace_id = `Run-${sent}-${randomUUID()}`;
    expect((await server.post(paths.traces, key, { trace_id })).status).toBe(200);
    ids.push(trace_id.toLowerCase());
  }
  return ids.sort();
}

test('merges the run id segments of a workspace after 512 batches and leaves other workspaces alone', async () => {
  const server = await testServer();
  const [busy, idle] = [await server.workspace(), await server.workspace()];
  const ids = await send(server, busy, 20);
  await send(server, idle, 20);
  const merging = new RunIdMerging(server.open.ledgerPool, pino({ level: 'silent' }));
  for (let batch = 1; batch < 512; batch += 1) merging.count(busy);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await segmentsOf(server, busy)).toHaveLength(20);
  merging.count(busy);
  await vi.waitUntil(async () => (await segmentsOf(server, busy)).length === 1, { timeout: 30_000 });
  merging.stop();
  const [segment] = await segmentsOf(server, busy);
  expect(segment!.run_count).toBe(20);
  expect(segment!.trace_ids.split('\x1d').sort()).toEqual(ids);
  expect(await segmentsOf(server, idle)).toHaveLength(20);
});

test('servers that merge at once lose no run and duplicate none', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  const ids = await send(server, workspace, 40);
  const merge = () => inTenantTransaction(server.open.pool, workspace, mergeRunIdSegments);
  await Promise.all([merge(), merge(), merge()]);
  const segments = await segmentsOf(server, workspace);
  expect(segments.flatMap(({ trace_ids }) => trace_ids.split('\x1d')).sort()).toEqual(ids);
  expect(segments.flatMap(({ runs }) => runs)).toHaveLength(40);
});

test('adds no segment for a repeated or rejected run', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  await server.post(paths.traces, key, { trace_id: 'once' }, { 'idempotency-key': 'a' });
  await server.post(paths.traces, key, { trace_id: 'once' }, { 'idempotency-key': 'a' });
  await server.post(paths.traces, key, { trace_id: 'once', outcome: 'failure' });
  expect((await server.post(paths.traces, key, { trace_id: 'never', agent_id: randomUUID() })).status).toBe(422);
  expect((await segmentsOf(server, workspace)).map(({ trace_ids }) => trace_ids)).toEqual(['once']);
});

test('the migration adds each stored run to a segment once', async () => {
  const server = await testServer();
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  const { sql } = server.database;
  const few = { agents: 3, evaluations: 1, decisions: 1, entries: 1, approvals: 1, incidents: 1 };
  await insertManyRecords(sql, workspace, { ...few, traces: 1200, telemetry: 1300 });
  await server.post(paths.traces, key, { trace_id: 'Ünï-TRACE' });
  await server.post(paths.telemetry, key, { events: ['A', 'B', 'C'].map((trace_id) => ({ trace_id, outcome: 'x' })) });
  const members = () =>
    sql<{ source: string; run: string; ordinal: number; trace_id: string }>(
      `SELECT source, run, ordinal - 1 AS ordinal, trace_id FROM countersign.run_id_segments AS s
        CROSS JOIN LATERAL unnest(s.runs, string_to_array(s.trace_ids, chr(29))) AS member (run, ids)
        CROSS JOIN LATERAL unnest(string_to_array(ids, chr(10))) WITH ORDINALITY AS event (trace_id, ordinal)
        ORDER BY source, run, ordinal`,
    );
  const before = await members();
  expect(before).toHaveLength(1200 + 1300 + 1 + 3);
  await sql('DROP TABLE countersign.run_id_segments');
  const owner = new pg.Client(server.database.owner);
  await owner.connect();
  const migration = readFileSync(new URL('../../migrations/000021_run-id-segments.sql', import.meta.url), 'utf8');
  await owner.query(`BEGIN; ${migration}; COMMIT`);
  await owner.end();
  expect(await members()).toEqual(before);
  const segments = await sql<{ run_count: number; counted: number; first: boolean }>(
    `SELECT run_count, (SELECT count(*)::int FROM unnest(string_to_array(translate(trace_ids, chr(29), chr(10)), chr(10)))) AS counted,
            first_run = runs[1] AND last_run = runs[cardinality(runs)] AS first
       FROM countersign.run_id_segments`,
  );
  expect(segments).toHaveLength(6);
  for (const { run_count, counted, first } of segments) expect([counted, first]).toEqual([run_count, true]);
});
