import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, QueryResultRow } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrokenSealError } from '../../src/database/broken-seals.ts';
import { openRolePool } from '../../src/database/pools.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { LogRewrittenError } from '../../src/ledger/log-tree.ts';
import { dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { eraseRun } from '../../src/retention/erase-run.ts';
import { insertRetentionPeriod } from '../../src/storage/retention-periods.ts';
import { setRetention } from '../../src/workspace/set-retention.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let pool: Pool;
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  pool = openRolePool(server.database.owner, server.open, 'retention');
  for (const table of ['audit_entries', 'retention_periods', 'traces', 'trace_submissions', 'trace_events'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
afterAll(() => pool.end());
beforeEach(async () => {
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

const keepFor = (traceDays: number | null) =>
  setRetention(server.open.pool, tenantId, { traceDays, isShortConfirmed: true }, 'operator');
const append = (action: string) => server.post(paths.audit, key, { actor: 'ci', action });
const sql = <Row extends QueryResultRow>(statement: string) =>
  server.database.sql<Row>(statement.replaceAll('$T', `tenant_id = '${tenantId}'`));
const dropAfter = (days: number) =>
  dropDueRecords(pool, tenantId, { now: new Date(Date.now() + days * 86_400_000).toISOString() });

/** The SQL condition for the ledger entry of the newest retention period. */
const NEWEST_CHANGE = `$T AND action = 'retention.changed' AND recorded_by = 'operator'
  AND seq = (SELECT max(seq) FROM countersign.audit_entries WHERE $T AND action = 'retention.changed' AND recorded_by = 'operator')`;

describe('after an attacker deletes the newest retention period in the database, so that an older and shorter one would apply,', () => {
  beforeEach(async () => {
    await keepFor(1);
    await append('before');
    await keepFor(null);
    await append('retention.changed');
    await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
    await sql('DELETE FROM countersign.retention_periods WHERE $T AND number = 2');
  });

  test.each([
    ["leaves the period's ledger entry as it is", BrokenSealError, undefined],
    [
      "changes the column `action` of the period's ledger entry",
      BrokenSealError,
      `UPDATE countersign.audit_entries SET action = 'x' WHERE ${NEWEST_CHANGE}`,
    ],
    [
      "changes the column `recorded_by` of the period's ledger entry",
      BrokenSealError,
      `UPDATE countersign.audit_entries SET recorded_by = 'key:0123456789ab' WHERE ${NEWEST_CHANGE}`,
    ],
    [
      "changes the period's whole ledger entry",
      LogRewrittenError,
      `UPDATE countersign.audit_entries SET action = 'retention-changed', document = replace(document, 'retention.changed', 'retention-changed')
        WHERE ${NEWEST_CHANGE}`,
    ],
    ["deletes the period's ledger entry", LogRewrittenError, `DELETE FROM countersign.audit_entries WHERE ${NEWEST_CHANGE}`],
  ])('and %s, the server drops nothing', async (_, reason, attack) => {
    if (attack !== undefined) await sql(attack);
    await expect(dropAfter(2)).rejects.toThrow(reason);
    expect(await sql('SELECT trace_id FROM countersign.traces WHERE $T')).toEqual([{ trace_id: 'run-1' }]);
  });
});

test('no retention period can be set after the newest one was deleted and its entry changed, until both are restored', async () => {
  await keepFor(1);
  await append('before');
  await keepFor(null);
  await sql('CREATE TABLE IF NOT EXISTS public.taken AS SELECT * FROM countersign.retention_periods WHERE $T AND number = 2');
  await sql('DELETE FROM countersign.retention_periods WHERE $T AND number = 2');
  await sql(`UPDATE countersign.audit_entries SET action = 'x' WHERE ${NEWEST_CHANGE}`);
  await expect(keepFor(365)).rejects.toThrow(BrokenSealError);
  await sql(`UPDATE countersign.audit_entries SET action = 'retention.changed' WHERE $T AND action = 'x'`);
  await sql('INSERT INTO countersign.retention_periods SELECT * FROM public.taken');
  await keepFor(365);
  const [entry] = await sql<{ document: string }>(`SELECT document FROM countersign.audit_entries WHERE ${NEWEST_CHANGE}`);
  expect(JSON.parse(entry!.document).metadata.before).toEqual({ trace_days: null, telemetry_days: null });
  await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
  expect(await dropAfter(400)).toMatchObject({ traces: 1 });
});

test("no retention period can be set if the ledger has another entry with the seq of the stored period's entry", async () => {
  await append('deployed');
  const [entry] = await sql<{ seq: number }>(`SELECT seq FROM countersign.audit_entries WHERE $T AND action = 'deployed'`);
  const period = { since: new Date().toISOString(), traceDays: 1, telemetryDays: null };
  await inTenantTransaction(server.open.pool, tenantId, async (tx) => insertRetentionPeriod(tx, 1, period, entry!.seq));
  await sql(
    `UPDATE countersign.audit_entries SET action = 'retention.changed', recorded_by = 'operator' WHERE $T AND seq = ${entry!.seq}`,
  );
  await expect(keepFor(365)).rejects.toThrow(BrokenSealError);
});

describe('retention drops nothing', () => {
  const sendTrace = async () => {
    await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
  };
  const expectNothingDropped = async () => {
    await expect(dropAfter(400)).rejects.toThrow(BrokenSealError);
    expect(await sql('SELECT trace_id FROM countersign.traces WHERE $T')).toEqual([{ trace_id: 'run-1' }]);
  };

  test("for a sealed period if the ledger has another entry with the seq of the period's entry, as after an accepted restore", async () => {
    await append('deployed');
    const [entry] = await sql<{ seq: number }>(`SELECT seq FROM countersign.audit_entries WHERE $T AND action = 'deployed'`);
    const period = { since: new Date().toISOString(), traceDays: 1, telemetryDays: null };
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => insertRetentionPeriod(tx, 1, period, entry!.seq));
    await sql(
      `UPDATE countersign.audit_entries SET action = 'retention.changed', recorded_by = 'operator' WHERE $T AND seq = ${entry!.seq}`,
    );
    await sendTrace();
    await expectNothingDropped();
  });
});

test('retention drops due records if the ledger has the newest period; `retention.changed` entries of senders change nothing', async () => {
  await keepFor(1);
  for (let count = 0; count < 5; count += 1) await append('retention.changed');
  await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
  expect(await dropAfter(2)).toMatchObject({ traces: 1 });
});

test('retention stops reading the ledger when the server stops', async () => {
  await keepFor(1);
  await server.post(paths.traces, key, { trace_id: 'run-1', agent_name: 'bot', outcome: 'success', spans: [] });
  const now = new Date(Date.now() + 2 * 86_400_000).toISOString();
  await append('later');
  const stopping = new AbortController();
  const pause = async () => stopping.abort();
  await expect(dropDueRecords(pool, tenantId, { now, pause, signal: stopping.signal })).rejects.toThrow('aborted');
});

describe('after an attacker changes the rows that determine what is deleted,', () => {
  const sendTrace = (traceId: string, more: object = {}) =>
    server.post(paths.traces, key, { trace_id: traceId, agent_name: 'bot', outcome: 'success', spans: [], ...more });
  const erase = (traceId: string) => eraseRun(pool, tenantId, { traceId, rationale: 'request 7', evenIfHeld: false });
  const storedTraceIds = async () => {
    const rows = await sql('SELECT trace_id FROM countersign.traces WHERE $T ORDER BY trace_id');
    return rows.map(({ trace_id }) => trace_id);
  };
  const swapTraceIds = () =>
    sql(
      `UPDATE countersign.traces AS t SET trace_id = CASE t.trace_id WHEN 'run-a' THEN 'run-b' ELSE 'run-a' END || ' swapped' WHERE $T`,
    ).then(() => sql(`UPDATE countersign.traces SET trace_id = replace(trace_id, ' swapped', '') WHERE $T`));
  const countEvents = async () => (await sql('SELECT seq FROM countersign.trace_events WHERE $T')).length;

  test('an erasure does not delete the wrong run if the trace_ids of two runs were swapped', async () => {
    for (const traceId of ['run-a', 'run-b']) await sendTrace(traceId);
    await swapTraceIds();
    await expect(erase('run-a')).rejects.toThrow('trace_id is "run-a", the trace log says "run-b"');
    expect([await storedTraceIds(), await countEvents()]).toEqual([['run-a', 'run-b'], 2]);
    await swapTraceIds();
    expect(await erase('run-a')).toMatchObject({ submissions: 1 });
    expect(await storedTraceIds()).toEqual(['run-b']);
  });

  describe('and changes where the document of a submission is stored,', () => {
    const metadata = { text: 'x'.repeat(4_000) };
    const segments = () => sql('SELECT id, compressed FROM countersign.document_segments WHERE $T ORDER BY id');
    const changeSubmission = async (columns: string) => {
      await sql(`UPDATE countersign.trace_submissions AS a SET ${columns}
        FROM countersign.trace_submissions AS b, countersign.traces AS ta, countersign.traces AS tb
        WHERE a.$T AND ta.tenant_id = a.tenant_id AND tb.tenant_id = a.tenant_id AND b.tenant_id = a.tenant_id
          AND ta.id = a.trace AND tb.id = b.trace AND ta.trace_id = 'run-a' AND tb.trace_id = 'run-b'`);
    };
    const OTHER_DOCUMENT = 'segment = b.segment, segment_offset = b.segment_offset, segment_length = b.segment_length';
    const DOCUMENT_IN_ROW = `segment = NULL, segment_offset = NULL, segment_length = NULL, document = '{}'`;

    test.each([
      ['refers to the document of another run', OTHER_DOCUMENT, 'its document is not the one that the trace log records'],
      ['contains another, short document', DOCUMENT_IN_ROW, 'its document is not the one that the trace log records'],
      [
        'has a range outside the segment',
        'segment_offset = a.segment_length',
        'its document is not the one that the trace log records',
      ],
    ])('erasure and retention change no document if the row of the submission %s', async (_, columns, message) => {
      await keepFor(1);
      for (const traceId of ['run-a', 'run-b']) await sendTrace(traceId, { metadata });
      const before = await segments();
      expect(before).toHaveLength(2);
      await changeSubmission(columns);
      await expect(erase('run-a')).rejects.toThrow(`submission 1: ${message}`);
      await expect(dropAfter(2)).rejects.toThrow(`submission 1: ${message}`);
      expect(await segments()).toEqual(before);
      expect([await storedTraceIds(), await countEvents()]).toEqual([['run-a', 'run-b'], 2]);
    });

    test('an erasure fails if the segment does not exist', async () => {
      for (const traceId of ['run-a', 'run-b']) await sendTrace(traceId, { metadata });
      await changeSubmission('segment = gen_random_uuid()');
      await expect(erase('run-a')).rejects.toThrow('a stored document of this run cannot be read');
      expect([await storedTraceIds(), (await segments()).length]).toEqual([['run-a', 'run-b'], 2]);
    });
  });

  test('retention drops no trace that an incident keeps, even if the trace_id of the trace was changed', async () => {
    await keepFor(1);
    await sendTrace('run-a');
    await server.post(paths.audit, key, { actor: 'ci', action: 'incident.created', trace_id: 'run-a' });
    await sql(`UPDATE countersign.traces SET trace_id = 'run-x' WHERE $T`);
    await expect(dropAfter(2)).rejects.toThrow('trace_id is "run-x", the trace log says "run-a"');
    expect(await storedTraceIds()).toEqual(['run-x']);
  });

  test('retention drops no trace whose second submission was backdated', async () => {
    await keepFor(1);
    for (let number = 0; number < 30; number += 1) await sendTrace(`before-${number}`);
    await sendTrace('run-a');
    await sleep(50);
    const boundMs = Date.now();
    await sleep(50);
    for (let number = 0; number < 30; number += 1) await sendTrace(`later-${number}`);
    await sendTrace('run-a', { metadata: { second: 1 } });
    const [genuine] = await sql('SELECT received_at::text AS at FROM countersign.trace_submissions WHERE $T AND number = 2');
    await sql(`UPDATE countersign.trace_submissions AS late SET received_at = first.received_at
      FROM countersign.trace_submissions AS first
      WHERE first.tenant_id = late.tenant_id AND first.trace = late.trace AND first.number = 1 AND late.$T AND late.number = 2`);
    const now = new Date(boundMs + 86_400_000).toISOString();
    await expect(dropDueRecords(pool, tenantId, { now })).rejects.toThrow(/received_at is .*, the trace log says /);
    expect(await storedTraceIds()).toHaveLength(61);
    await sql(`UPDATE countersign.trace_submissions SET received_at = '${genuine!.at}' WHERE $T AND number = 2`);
    expect(await dropDueRecords(pool, tenantId, { now })).toMatchObject({ traces: 30 });
    expect(await storedTraceIds()).toHaveLength(31);
  });

  test.each(['-', '+'])('retention drops nothing if the received_at of one submission was changed by %s1 ms', async (sign) => {
    await keepFor(1);
    for (let number = 0; number < 20; number += 1) await sendTrace(`run-${number}`);
    const ofRun10 = `$T AND trace = (SELECT id FROM countersign.traces WHERE $T AND trace_id = 'run-10')`;
    await sql(`UPDATE countersign.trace_submissions SET received_at = received_at ${sign} interval '1 ms' WHERE ${ofRun10}`);
    await expect(dropAfter(2)).rejects.toThrow(/submission 1: received_at is .*, the trace log says /);
    expect(await storedTraceIds()).toHaveLength(20);
  });

  test('retention drops no trace with a submission that the log does not have', async () => {
    await keepFor(1);
    await sendTrace('run-a');
    await sql(`INSERT INTO countersign.trace_submissions (tenant_id, trace, number, received_at, recorded_by, document, spans)
      SELECT tenant_id, trace, 7, received_at, recorded_by, '{}', spans FROM countersign.trace_submissions WHERE $T`);
    await expect(dropAfter(2)).rejects.toThrow('the trace log has no such submission');
    expect(await storedTraceIds()).toEqual(['run-a']);
  });

  test('retention and erasure delete nothing if the trace and its event were both changed', async () => {
    await keepFor(1);
    await sendTrace('run-a');
    await sql(`UPDATE countersign.traces SET trace_id = 'run-b' WHERE $T`);
    await sql(`UPDATE countersign.trace_events SET document = replace(document, 'run-a', 'run-b') WHERE $T`);
    const rehash = `event_hash = sha256(convert_to(E'countersign/traces/v1\\n' || document, 'UTF8'))`;
    for (const change of ['', rehash]) {
      if (change !== '') await sql(`UPDATE countersign.trace_events SET ${change} WHERE $T`);
      await expect(dropAfter(2)).rejects.toThrow(LogRewrittenError);
      await expect(erase('run-b')).rejects.toThrow(LogRewrittenError);
    }
    expect(await storedTraceIds()).toEqual(['run-b']);
  });
});
