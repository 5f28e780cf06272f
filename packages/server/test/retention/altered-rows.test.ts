import { describe, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { verifyTraces } from '../../src/ledger/verify-traces.ts';
import { eraseRun } from '../../src/retention/erase-run.ts';
import { recordStatements } from '../fixtures/recorded-statements.ts';
import { ownerEnvironmentOf, runCommand } from '../fixtures/run-command.ts';
import { RetentionWorkspace } from './retention-workspace.ts';

const workspace = new RetentionWorkspace();
const { sql, drop, keepFor, sendTrace, traceIds, verify } = workspace;

describe('retention of altered rows', () => {
  const withoutTriggers = async (table: string, statement: string, values: unknown[] = [workspace.tenantId]) => {
    await sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER append_only`);
    await sql(statement, values);
    await sql(`ALTER TABLE countersign.${table} ENABLE ALWAYS TRIGGER append_only`);
  };

  test('keeps a trace whose submissions were deleted outside the server, and the trace log stays well-formed', async () => {
    await keepFor({ traceDays: 365 });
    const id = await sendTrace('run-1');
    await withoutTriggers('trace_submissions', 'DELETE FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = $2', [
      workspace.tenantId,
      id,
    ]);
    expect(await drop(366)).toMatchObject({ traces: 0, held: 1 });
    expect(await verify('traces')).toEqual([1, expect.not.stringContaining('malformed')]);
    const erased = await runCommand(
      ownerEnvironmentOf(workspace.server),
      ...['runs', 'erase', '--workspace', workspace.name, '--trace', 'run-1', '--rationale', 'x'],
    );
    expect([erased.status, erased.err]).toEqual([9, expect.stringContaining('changed outside the server')]);
    expect(await verify('traces')).toEqual([1, expect.not.stringContaining('malformed')]);
  });

  test.each([
    ['shortened', 'UPDATE countersign.retention_periods SET trace_days = 1 WHERE tenant_id = $1'],
    ['deleted', 'DELETE FROM countersign.retention_periods WHERE tenant_id = $1 AND number = 2'],
    ['backdated', `UPDATE countersign.retention_periods SET since = since - interval '9 years' WHERE tenant_id = $1`],
  ])('drops nothing when a period was %s in the database', async (_, statement) => {
    await keepFor({ traceDays: 365 });
    await keepFor({ traceDays: 730 });
    await sendTrace('run-1');
    await withoutTriggers('retention_periods', statement);
    await expect(drop(40_000)).rejects.toThrow();
    expect(await traceIds()).toEqual(['run-1']);
  });

  test('`ledger verify` names a trace that was deleted by SQL, even if the table of dropped traces contains it', async () => {
    await keepFor({ traceDays: 365 });
    await sendTrace('dropped');
    await drop(366);
    const deleted = await sendTrace('deleted');
    await withoutTriggers('trace_submissions', 'DELETE FROM countersign.trace_submissions WHERE tenant_id = $1');
    await sql('DELETE FROM countersign.traces WHERE tenant_id = $1', [workspace.tenantId]);
    await sql('INSERT INTO countersign.dropped_traces (tenant_id, trace, seq) VALUES ($1, $2, 2)', [workspace.tenantId, deleted]);
    const [status, out] = await verify('traces');
    expect([status, out]).toEqual([1, expect.stringContaining(`${deleted}, submission 1`)]);
    expect(out).toContain('the row is gone');
  });

  test.each([
    ['deleted', 'DELETE FROM countersign.dropped_traces WHERE tenant_id = $1'],
    ['changed', 'UPDATE countersign.dropped_traces SET seq = 1 WHERE tenant_id = $1'],
  ])(
    'after rows of dropped_traces were %s, the trace log is valid, and a submission that was deleted by SQL is still reported',
    async (_, statement) => {
      await keepFor({ traceDays: 365 });
      for (const traceId of ['one', 'two', 'three']) await sendTrace(traceId);
      await drop(366);
      await sendTrace('kept');
      await withoutTriggers('dropped_traces', statement);
      expect(await verify('traces')).toEqual([0, '']);
      const deleted = await sendTrace('deleted');
      await withoutTriggers(
        'trace_submissions',
        `DELETE FROM countersign.trace_submissions WHERE tenant_id = $1 AND trace = '${deleted}'`,
      );
      const { findings } = await verifyTraces(workspace.server.open.ledgerPool, workspace.tenantId);
      expect(findings).toEqual([expect.objectContaining({ id: `${deleted}, submission 1`, fault: 'the row is gone' })]);
    },
  );

  /** Sends 20 runs, erases them one by one in the order that `orderOf` returns, and deletes the rows of dropped_traces. */
  const eraseRuns = async (orderOf: (ids: string[]) => string[]) => {
    const erased = Array.from({ length: 20 }, (_, index) => `run-${index}`);
    for (const traceId of erased) await sendTrace(traceId);
    for (const traceId of orderOf(erased))
      await eraseRun(workspace.pool, workspace.tenantId, { traceId, rationale: 'request', evenIfHeld: false });
    await withoutTriggers('dropped_traces', 'DELETE FROM countersign.dropped_traces WHERE tenant_id = $1');
  };

  test('a trace log without rows in dropped_traces is valid after runs were erased in another order than they arrived', async () => {
    await eraseRuns((ids) => ids.reverse());
    expect(await verify('traces')).toEqual([0, '']);
  });

  test('each search for dropped traces continues where the previous one ended, so that a long log is read once', async () => {
    await eraseRuns((ids) => ids);
    const verifier = openRolePool(workspace.server.database.server, workspace.server.open, 'verify');
    const reads = recordStatements(verifier, 'read_trace_events');
    expect((await verifyTraces(verifier, workspace.tenantId)).findings).toEqual([]);
    await verifier.end();
    // Events 1 to 20 recorded the runs. The first search reads them once. A search that started again would read them a second time.
    const restartedReads = reads.filter(({ values }) => Number(values[1]) > 0 && Number(values[1]) < 20);
    expect(restartedReads.length).toBeLessThanOrEqual(1);
  });

  test.each(['traces', 'trace_submissions'])(
    '`ledger verify` names a row of a dropped trace if the row was added to %s again',
    async (table) => {
      await keepFor({ traceDays: 365 });
      const added = await sendTrace('run-1');
      const copy = `copy_of_${table}`;
      await sql(`CREATE TABLE public.${copy} AS SELECT * FROM countersign.${table} WHERE tenant_id = '${workspace.tenantId}'`);
      await drop(366);
      await sql(`INSERT INTO countersign.${table} SELECT * FROM public.${copy}`);
      await sql(`DROP TABLE public.${copy}`);
      const { findings } = await verifyTraces(workspace.server.open.ledgerPool, workspace.tenantId);
      expect(findings).toContainEqual({ table, id: added, fault: expect.stringContaining('was dropped') });
      expect((await verify('traces'))[0]).toBe(1);
    },
  );
});
