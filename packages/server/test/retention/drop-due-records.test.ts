import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { verifyPeriods } from '../../src/ledger/verify-periods.ts';
import { dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { lockRetention } from '../../src/storage/dropped-traces.ts';
import { readDocuments } from '../../src/storage/portal/run-details.ts';
import { readRetentionPeriods } from '../../src/storage/retention-periods.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { paths } from '../harness/test-server.ts';
import { exporter } from '../otlp/sending.ts';
import { chatRun, id, jsonExport, newTrace, pairs } from '../otlp/test-exports.ts';
import { RetentionWorkspace } from './retention-workspace.ts';

const workspace = new RetentionWorkspace();
const { sql, inDays, drop, keepFor, sendTrace, sendTelemetry, count, traceIds, entries, verify } = workspace;

describe('retention', () => {
  test('keeps a trace while no period is set', async () => {
    await sendTrace('run-1');
    expect(await drop(40_000)).toMatchObject({ traces: 0, telemetry: 0, exports: 0 });
    expect(await traceIds()).toEqual(['run-1']);
  });

  test('drops traces whose period is over, with all their rows, and no trace of another tenant', async () => {
    await keepFor({ traceDays: 365 });
    const other = await workspace.server.workspace();
    const otherKey = await workspace.server.key(other);
    await workspace.server.post(paths.traces, otherKey, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
    await sendTrace('run-1', { spans: [{ span_id: 'a', kind: 'llm', name: 'one', prompt_tokens: 5 }] });
    await sendTrace('run-1', { outcome: 'failure' });
    await sendTrace('run-2');
    expect(await drop(364.9)).toMatchObject({ traces: 0 });
    expect(await drop(365.1)).toEqual({ traces: 2, telemetry: 0, exports: 0, held: 0, unreadable: [] });
    for (const table of ['traces', 'trace_submissions', 'merged_spans', 'merged_traces', 'document_segments', 'run_id_segments'])
      expect([table, await count(table)]).toEqual([table, 0]);
    const [others] = await sql<{ n: number }>('SELECT count(*) AS n FROM countersign.traces WHERE tenant_id = $1', [other]);
    expect(others!.n).toBe(1);
  });

  test('records what it dropped in the audit ledger and in the trace log, and both logs are valid', async () => {
    await keepFor({ traceDays: 365 });
    const ids = [await sendTrace('run-1'), await sendTrace('run-2')];
    await sendTrace('run-1', { outcome: 'failure' });
    await drop(366);
    const dropped = await entries('retention.dropped');
    expect(dropped).toMatchObject([
      {
        recorded_by: 'system:retention',
        metadata: { kind: 'traces', days: 365, traces: 2, submissions: 3, received_before: expect.any(String) },
      },
    ]);
    const [event] = await sql<{ document: string }>(
      'SELECT document FROM countersign.trace_events WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 1',
      [workspace.tenantId],
    );
    expect(JSON.parse(event!.document)).toMatchObject({
      action: 'traces.dropped',
      reason: 'retention',
      seq: dropped[0].metadata.traces_log_seq,
      traces: [
        { id: ids[0], submissions: 2 },
        { id: ids[1], submissions: 1 },
      ],
    });
    for (const log of ['audit', 'traces']) expect(await verify(log)).toEqual([0, '']);
    const args = ['ledger', 'verify', '--workspace', workspace.name, '--log', 'traces'];
    const { out } = await runCommand(environmentOf(workspace.server), ...args);
    expect(out).toContain(`; 2 traces were dropped by retention or erasure, the last time on ${inDays(0).slice(0, 10)}`);
    await sendTrace('run-3');
    expect(await verify('traces')).toEqual([0, '']);
  });

  test('a run that was dropped can be sent again', async () => {
    await keepFor({ traceDays: 365 });
    const first = await sendTrace('run-1');
    await drop(366);
    expect(await sendTrace('run-1')).not.toBe(first);
    expect(await verify('traces')).toEqual([0, '']);
  });

  test('applies a period only to the runs that are received while it is set', async () => {
    // On a busy machine, the estimated time of a trace can be early by some milliseconds (ledger/remembered-heads.ts).
    const changePeriod = async (traceDays: number | null) => {
      await keepFor({ traceDays });
      await sleep(500);
    };
    await sendTrace('before');
    await changePeriod(365);
    await sendTrace('for a year');
    await changePeriod(730);
    await sendTrace('for two years');
    await changePeriod(null);
    await sendTrace('after');
    await drop(366);
    expect(await traceIds()).toEqual(['after', 'before', 'for two years']);
    await drop(731);
    expect(await traceIds()).toEqual(['after', 'before']);
    await drop(30_000);
    expect(await traceIds()).toEqual(['after', 'before']);
  });

  test('keeps a run that is named by an evaluation, an incident, or an audit entry with a `retention_until` in the future', async () => {
    await keepFor({ traceDays: 365, telemetryDays: 365 });
    for (const traceId of ['evaluated', 'incident', 'entry', 'nested', 'past', 'free']) await sendTrace(traceId);
    await sendTelemetry('entry', 'free');
    await sendTelemetry('free');
    const evaluation = { name: 'e', suite: { name: 's' }, agent_name: 'bot', status: 'passing', trace_ids: ['evaluated'] };
    expect((await workspace.server.post(paths.detailedEvaluations, workspace.key, evaluation)).body).toMatchObject({ ok: true });
    const record = (entry: object) =>
      workspace.server.post(paths.audit, workspace.key, { action: 'note', actor: 'me', ...entry });
    await record({ trace_id: 'incident', action: 'incident.created' });
    await record({ trace_id: 'entry', retention_until: '9999-12-31', metadata: { retention_until: '2020-01-01' } });
    await record({ trace_id: 'nested', metadata: { retention_until: '9999-12-31' } });
    await record({ trace_id: 'past', retention_until: '2026-12-31' });
    expect(await drop(366)).toMatchObject({ traces: 3, telemetry: 1, held: 4 });
    expect(await traceIds()).toEqual(['entry', 'evaluated', 'incident']);
    expect(await count('telemetry_events')).toBe(2);
    expect(await verify('traces')).toEqual([0, '']);
  });

  test('drops a trace when the periods of all its submissions are over, even if the period changed between submissions', async () => {
    const traces = ['forever-later', 'longer-later', 'same-later'];
    await keepFor({ traceDays: 365 });
    for (const each of traces) await sendTrace(each);
    await keepFor({ telemetryDays: 200 });
    await sendTrace('same-later', { outcome: 'failure' });
    await keepFor({ traceDays: 730 });
    await sendTrace('longer-later', { outcome: 'failure' });
    await keepFor({ traceDays: null });
    await sendTrace('forever-later', { outcome: 'failure' });
    await keepFor({ traceDays: 365 });
    await sendTrace('forever-later', { outcome: 'success' });
    await drop(364);
    expect(await traceIds()).toEqual(traces);
    await drop(366);
    expect(await traceIds()).toEqual(['forever-later', 'longer-later']);
    await drop(731);
    expect(await traceIds()).toEqual(['forever-later']);
    expect(await verify('traces')).toEqual([0, '']);
  });

  test.each([
    ['', 0],
    [', and does not count it as held although an incident names it', 1],
  ])('keeps a trace whose last submission is not due%s', async (_, incidentCount) => {
    await keepFor({ traceDays: 365 });
    await sendTrace('run-1');
    const incident = { actor: 'me', action: 'incident.created', trace_id: 'run-1' };
    for (let index = 0; index < incidentCount; index += 1) await workspace.server.post(paths.audit, workspace.key, incident);
    await sleep(50);
    const now = inDays(365);
    await sleep(50);
    await sendTrace('run-1');
    expect(await dropDueRecords(workspace.pool, workspace.tenantId, { now })).toMatchObject({ traces: 0, held: 0 });
    expect(await drop(366)).toMatchObject({ traces: 1 - incidentCount, held: incidentCount });
  });

  test('drops telemetry after its own period and records an entry', async () => {
    await keepFor({ telemetryDays: 200 });
    await sendTrace('run-1');
    await sendTelemetry('run-1', 'run-2');
    expect(await drop(201)).toMatchObject({ traces: 0, telemetry: 1 });
    expect([await count('telemetry_events'), await count('telemetry_submissions'), await count('traces')]).toEqual([0, 0, 1]);
    expect(await entries('retention.dropped')).toMatchObject([
      { metadata: { kind: 'telemetry', days: 200, submissions: 1, telemetry_events: 2 } },
    ]);
    expect(await verify('audit')).toEqual([0, '']);
  });

  test('drops OpenTelemetry exports and log records together with the run that they belong to', async () => {
    await keepFor({ traceDays: 365 });
    const { sendJson } = exporter(workspace.server, workspace.key);
    const traceId = newTrace();
    expect((await sendJson(jsonExport(chatRun(traceId)))).status).toBe(200);
    const log = { traceId, spanId: id(2), eventName: 'exception', attributes: pairs({ 'exception.message': 'rate limit' }) };
    expect((await sendJson({ resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] }, '/v1/logs')).status).toBe(200);
    expect([await count('otlp_exports'), await count('export_runs'), await count('log_records')]).toEqual([2, 1, 1]);
    expect(await drop(366)).toMatchObject({ traces: 1, exports: 2 });
    for (const table of ['otlp_exports', 'export_runs', 'log_records', 'document_segments', 'traces'])
      expect(await count(table)).toBe(0);
    expect(await verify('traces')).toEqual([0, '']);
  });

  test('documents that are held stay readable after the other documents of their segment were dropped', async () => {
    await keepFor({ traceDays: 365 });
    const ids = await Promise.all(Array.from({ length: 40 }, (_, index) => sendTrace(`run-${index}`)));
    const heldIndexes = [3, 17];
    const documents = () =>
      Promise.all(
        heldIndexes.map(async (index) => {
          const [read] = await inTenantTransaction(workspace.server.open.pool, workspace.tenantId, (tx) =>
            readDocuments(tx, ids[index]!, [1]),
          );
          return JSON.parse(read!.document!);
        }),
      );
    const record = { action: 'incident.created', actor: 'me' };
    for (const index of heldIndexes)
      await workspace.server.post(paths.audit, workspace.key, { ...record, trace_id: `run-${index}` });
    const before = await documents();
    expect(before).toMatchObject(
      heldIndexes.map((index) => ({ trace_id: `run-${index}`, metadata: { text: 'x'.repeat(4_000) } })),
    );
    const segments = await count('document_segments');
    // At least one segment contains several documents.
    expect([segments > 0, segments < 40]).toEqual([true, true]);
    expect(await drop(366)).toMatchObject({ traces: 38, held: 2 });
    expect(await documents()).toEqual(before);
    expect(await verify('traces')).toEqual([0, '']);
    expect(await count('document_segments')).toBeLessThanOrEqual(Math.min(2, segments));
  });

  test('drops 210 submissions in two transactions of at most 200', async () => {
    await keepFor({ telemetryDays: 200 });
    for (let sentCount = 0; sentCount < 210; sentCount += 30)
      await Promise.all(Array.from({ length: 30 }, () => sendTelemetry('run-1')));
    expect(await drop(201)).toMatchObject({ telemetry: 210 });
    expect((await entries('retention.dropped')).map(({ metadata }) => metadata.submissions)).toEqual([200, 10]);
  });

  test('waits while another process drops records of the same workspace, but not while it drops records of another workspace', async () => {
    await keepFor({ traceDays: 365 });
    await sendTrace('run-1');
    const other = openRolePool(workspace.server.database.owner, workspace.server.open, 'retention');
    let dropping: ReturnType<typeof drop> | undefined;
    await inTenantTransaction(other, await workspace.server.workspace(), async (elsewhere) => {
      lockRetention(elsewhere);
      expect(await drop(366)).toMatchObject({ traces: 1 });
    });
    await sendTrace('run-2');
    await inTenantTransaction(other, workspace.tenantId, async (tx) => {
      lockRetention(tx);
      dropping = drop(366);
      await waitForBlockedStatements(workspace.server.database);
    });
    expect(await dropping).toMatchObject({ traces: 1 });
    await other.end();
  });

  test('uses the newest periods if a period was set after the periods were read', async () => {
    await keepFor({ traceDays: 200 });
    const periods = await inTenantTransaction(workspace.pool, workspace.tenantId, readRetentionPeriods);
    await keepFor({ traceDays: 300 });
    const newest = await verifyPeriods(workspace.pool, workspace.tenantId, periods, async () => undefined);
    expect(newest.map(({ traceDays }) => traceDays)).toEqual([200, 300]);
  });

  test("is not possible with the server's role, which does not own the tables", async () => {
    await keepFor({ traceDays: 365 });
    await sendTrace('run-1');
    await expect(dropDueRecords(workspace.server.open.ledgerPool, workspace.tenantId, { now: inDays(366) })).rejects.toThrow(
      'may not delete',
    );
    await expect(workspace.server.open.pool.query('DELETE FROM countersign.trace_submissions')).rejects.toThrow(
      'permission denied',
    );
    expect(await traceIds()).toEqual(['run-1']);
  });

  test('the owner of the tables cannot delete rows without the setting countersign.dropping, and cannot update rows with it', async () => {
    await sendTrace('run-1');
    for (const statement of ['DELETE FROM countersign.trace_submissions', 'TRUNCATE countersign.trace_submissions'])
      await expect(workspace.pool.query(statement)).rejects.toThrow('is append-only');
    const client = await workspace.pool.connect();
    await client.query('BEGIN');
    await client.query(`SET LOCAL countersign.dropping = 'on'`);
    const update = client.query('UPDATE countersign.trace_submissions SET number = 2');
    await expect(update).rejects.toThrow('is append-only');
    await client.query('ROLLBACK');
    client.release();
  });
});
