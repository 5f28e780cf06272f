import { brotliDecompressSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRolePool } from '../../src/database/pools.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { mergeRunIdSegments } from '../../src/storage/run-id-segments.ts';
import { setRetention } from '../../src/workspace/set-retention.ts';
import { environmentOf, ownerEnvironmentOf, runCommand } from '../fixtures/run-command.ts';
import { waitForBlockedStatements } from '../harness/lock-wait.ts';
import { portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer } from '../harness/test-server.ts';
import { exporter, PROTOBUF } from '../otlp/sending.ts';
import { chatRun, id, jsonExport, newTrace, pairs, protobufExport } from '../otlp/test-exports.ts';
import { RetentionWorkspace } from './retention-workspace.ts';

const workspace = new RetentionWorkspace();
const { sendTrace, count, verify } = workspace;
let server: TestServer;
let environment: ReturnType<typeof ownerEnvironmentOf>;
let name = '';
let tenantId = '';
let key = '';

beforeAll(() => {
  environment = ownerEnvironmentOf(workspace.server);
});
beforeEach(() => {
  ({ server, name, tenantId, key } = workspace);
});

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = [tenantId]) =>
  server.database.sql<Row>(text, values);
const erase = (traceId: string, ...options: string[]) =>
  runCommand(environment, 'runs', 'erase', '--workspace', name, '--trace', traceId, '--rationale', 'request 7', ...options);
const sendTelemetry = async (...events: object[]) =>
  expect(
    (await server.post(paths.telemetry, key, { events: events.map((event) => ({ outcome: 'success', ...event })) })).status,
  ).toBe(200);
/** The tenant's rows in eight tables of runs, the bodies of its exports, and its decompressed segments of documents, as one text. */
const storedText = async () => {
  const tables = [
    'traces',
    'trace_submissions',
    'telemetry_submissions',
    'telemetry_events',
    'log_records',
    'run_id_segments',
    'export_runs',
    'otlp_exports',
  ];
  const rows = await Promise.all(tables.map((table) => sql(`SELECT * FROM countersign.${table} WHERE tenant_id = $1`)));
  const segments = await sql<{ compressed: Buffer }>('SELECT compressed FROM countersign.document_segments WHERE tenant_id = $1');
  const exports = await sql<{ body: Buffer | null }>('SELECT body FROM countersign.otlp_exports WHERE tenant_id = $1');
  return (
    JSON.stringify(rows) +
    exports.map(({ body }) => body?.toString()).join('') +
    segments.map(({ compressed }) => brotliDecompressSync(compressed).toString()).join('')
  );
};

const logs = (...records: object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] });
const message = (traceId: string, content: string) => ({
  traceId,
  spanId: id(2),
  eventName: 'gen_ai.user.message',
  body: { kvlistValue: { values: pairs({ content }) } },
});

describe('runs erase', () => {
  test('erases a run with its telemetry, and no other run', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => sendTrace(`run-${index}`)));
    await sendTrace('person ada', { session_id: 'ada', metadata: { text: 'secret text'.repeat(400) } });
    await sendTrace('person ada', { outcome: 'failure' });
    await sendTelemetry(
      { trace_id: 'run-1', session_id: 'first' },
      { trace_id: 'person ada', session_id: 'secret text' },
      { trace_id: 'run-2', session_id: 'last' },
    );
    const erased = await erase('person ada', '--json');
    expect(erased.err).toBe('');
    expect(JSON.parse(erased.out)).toMatchObject({ submissions: 2, telemetry_events: 1, exports: 0, trace: expect.any(String) });
    expect(await storedText()).not.toMatch(/person ada|secret text/);
    expect([await count('traces'), await count('telemetry_events')]).toEqual([20, 2]);
    for (const log of ['audit', 'traces']) expect(await verify(log)).toEqual([0, '']);
  });

  test('does not change the positions of the other telemetry events of a request', async () => {
    await sendTelemetry(
      { trace_id: 'one', error: 'e1' },
      { trace_id: 'person ada', error: 'e2' },
      { trace_id: 'three', error: 'e3' },
    );
    await erase('person ada');
    const portal = await portalClient(server, tenantId, 'viewer');
    const { items } = await portal.getResult('runs.list', { query: { source: 'telemetry', text: 'three' } });
    expect(items).toHaveLength(1);
    const event = await portal.getResult('runs.event', { params: { submission: items[0]!.id, ordinal: '2' } });
    expect(JSON.stringify(event)).toContain('e3');
    expect((await portal.getResult('runs.list', { query: { source: 'telemetry', text: 'person ada' } })).items).toEqual([]);
  });

  test('does not change the text of the other telemetry events of a request', async () => {
    const others = [
      '{"trace_id":"one", "outcome":"success", "metadata":{"id":9007199254740993,"rate":0.10,"zero":-0,"a":1,"a":"[{"}}',
      '{"trace_id":"three","outcome":"success","detail":"\\"}],","input":[[1e400,{}],12345678901234567890]}',
    ];
    const bodyWith = (listName: string, middleEvent: string) =>
      `{ "${listName}" : [ ${others[0]},${middleEvent} , ${others[1]}], "note":[1] }`;
    const body = bodyWith('event\\u0073', '{"trace_id":"person ada","outcome":"success"}');
    expect((await server.post(paths.telemetry, key, body)).status).toBe(200);
    const bodyWithTwoLists = `{"events":[{"trace_id":"person ada","outcome":"success"}],${body.slice(1)}`;
    expect((await server.post(paths.telemetry, key, bodyWithTwoLists)).status).toBe(200);
    expect((await erase('person ada')).status).toBe(0);
    const stored = await sql('SELECT document FROM countersign.telemetry_submissions WHERE tenant_id = $1 ORDER BY id');
    const remainingBody = bodyWith('event\\u0073', 'null');
    expect(stored).toEqual([{ document: remainingBody }, { document: `{"events":null,${remainingBody.slice(1)}` }]);
  });

  test('erases a whole request if it contains no other run, whether it has one event or several', async () => {
    expect((await server.post(paths.telemetry, key, { trace_id: 'person ada', outcome: 'success' })).status).toBe(200);
    await sendTelemetry({ trace_id: 'person ada' }, { trace_id: 'person ada', session_id: 'secret text'.repeat(40) });
    await sendTelemetry({ trace_id: 'person ada' }, { trace_id: 'other' });
    expect(JSON.parse((await erase('person ada', '--json')).out)).toMatchObject({ telemetry_events: 4 });
    expect([await count('telemetry_submissions'), await count('telemetry_events')]).toEqual([1, 1]);
    expect(await storedText()).not.toMatch(/person ada|secret text/);
  });

  test('removes an erased request from the search index and keeps the other requests of the same segment', async () => {
    for (let number = 0; number < 16; number += 1) await sendTelemetry({ trace_id: `other-${number}` });
    await sendTelemetry({ trace_id: 'person ada' });
    await sendTelemetry({ trace_id: 'person ada' }, { trace_id: 'other' });
    await inTenantTransaction(server.open.pool, tenantId, mergeRunIdSegments);
    await erase('person ada');
    const remaining = await sql<{ id: string }>(
      'SELECT id FROM countersign.telemetry_submissions WHERE tenant_id = $1 ORDER BY id',
    );
    const segments = await sql('SELECT run_count, runs FROM countersign.run_id_segments WHERE tenant_id = $1');
    expect(segments).toEqual([{ run_count: 18, runs: remaining.map(({ id }) => id) }]);
  });

  test('erases the trace_id from the search index while segments of the index are merged', async () => {
    for (let index = 0; index < 16; index += 1) await sendTrace(`run-${index}`);
    await sendTrace('person ada');
    for (let index = 0; index < 16; index += 1) await sendTelemetry({ trace_id: 'person ada' }, { trace_id: `run-${index}` });
    let erased: ReturnType<typeof erase> | undefined;
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      await mergeRunIdSegments(tx);
      erased = erase('person ada');
      await waitForBlockedStatements(server.database);
    });
    expect((await erased!).status).toBe(0);
    expect(await storedText()).not.toMatch('person ada');
  });

  test('succeeds while retention drops other documents of the segment that contains the run, and retention succeeds too', async () => {
    await setRetention(server.open.pool, tenantId, { traceDays: 365, isShortConfirmed: false }, 'operator');
    await Promise.all(Array.from({ length: 20 }, (_, index) => sendTrace(`run-${index}`)));
    const [shared] = await sql<{ runs: string[] }>(
      `SELECT array_agg(t.trace_id) AS runs FROM countersign.trace_submissions AS s
         JOIN countersign.traces AS t ON t.tenant_id = $1 AND t.id = s.trace WHERE s.tenant_id = $1 AND s.segment IS NOT NULL
        GROUP BY s.segment HAVING count(*) > 1`,
    );
    const traceId = shared!.runs[0]!;
    await sendTelemetry({ trace_id: traceId });
    const pool = openRolePool(server.database.owner, server.open, 'retention');
    let erased: ReturnType<typeof erase> | undefined;
    let dropped: ReturnType<typeof dropDueRecords> | undefined;
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      await mergeRunIdSegments(tx);
      erased = erase(traceId);
      await waitForBlockedStatements(server.database);
      dropped = dropDueRecords(pool, tenantId, { now: new Date(Date.now() + 366 * 86_400_000).toISOString() });
      await waitForBlockedStatements(server.database, 2);
    });
    expect(await dropped).toMatchObject({ traces: 19 });
    expect((await erased!).status).toBe(0);
    await pool.end();
  });

  test('keeps the other runs of a request in the search index, even a run whose trace_id differs only in case', async () => {
    await sendTelemetry({ trace_id: 'Run-Ada' }, { trace_id: 'run-ada' }, { trace_id: 'one' }, { trace_id: 'run-ada' });
    expect((await erase('run-ada')).status).toBe(0);
    const portal = await portalClient(server, tenantId, 'viewer');
    const { items } = await portal.getResult('runs.list', { query: { source: 'telemetry', text: 'run-ada' } });
    expect(items).toMatchObject([{ trace_id: 'Run-Ada' }]);
    const segments = await sql('SELECT trace_ids FROM countersign.run_id_segments WHERE tenant_id = $1');
    expect(segments).toEqual([{ trace_ids: 'run-ada\n\none\n' }]);
  });

  test('does not change telemetry that arrives during the erasure, so that a second erasure can erase it', async () => {
    for (let index = 0; index < 16; index += 1) await sendTelemetry({ trace_id: `run-${index}` });
    await sendTelemetry({ trace_id: 'person ada', detail: 'secret text' }, { trace_id: 'run-1' });
    let erased: ReturnType<typeof erase> | undefined;
    await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
      await mergeRunIdSegments(tx);
      erased = erase('person ada', '--json');
      await waitForBlockedStatements(server.database);
      await sendTelemetry({ trace_id: 'person ada', detail: 'secret text' }, { trace_id: 'run-2' });
    });
    for (const { out } of [await erased!, await erase('person ada', '--json')])
      expect(JSON.parse(out)).toMatchObject({ telemetry_events: 1 });
    expect(await storedText()).not.toMatch(/person ada|secret text/);
  });

  test('records who erased a run, why and how much, without the content', async () => {
    await sendTrace('person ada', { metadata: { text: 'secret text' } });
    await erase('person ada');
    const [entry] = await sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND action = 'run.erased'`,
    );
    expect(JSON.parse(entry!.document)).toMatchObject({
      recorded_by: 'operator',
      rationale: 'request 7',
      metadata: { submissions: 1, telemetry_events: 0, exports: 0, traces_log_seq: 2 },
    });
    expect(entry!.document).not.toContain('secret');
  });

  test('erases the OpenTelemetry exports that contain a part of the run, and the other runs stay valid without these exports', async () => {
    const { sendJson } = exporter(server, key);
    const [erased, other] = [newTrace(), newTrace()];
    expect((await sendJson(jsonExport([...chatRun(erased), ...chatRun(other)]))).status).toBe(200);
    const log = { traceId: erased, spanId: id(2), eventName: 'exception', attributes: pairs({ 'exception.message': 'x' }) };
    expect((await sendJson({ resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] }, '/v1/logs')).status).toBe(200);
    expect(JSON.parse((await erase(erased, '--json')).out)).toMatchObject({ submissions: 1, exports: 2 });
    expect([await count('otlp_exports'), await count('log_records'), await count('traces')]).toEqual([0, 0, 1]);
    expect(await verify('traces')).toEqual([0, '']);
    const [event] = await sql<{ document: string }>(
      `SELECT document FROM countersign.trace_events WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 1`,
    );
    expect(JSON.parse(event!.document)).toMatchObject({
      action: 'traces.dropped',
      reason: 'erasure',
      exports: [expect.any(String)],
    });
  });

  test.each<[string, (run: string, other: string) => object[]]>([
    [
      'with a log record that is not added to a run',
      (run, other) => [logs(message(other, 'hello'), { traceId: run, body: { stringValue: 'secret text' } })],
    ],
    [
      'with a message that another export contains too',
      (run, other) => [logs(message(run, 'secret text')), logs(message(run, 'secret text'), message(other, 'hello'))],
    ],
  ])('erases an OpenTelemetry export %s', async (_, exportsOf) => {
    const { sendJson } = exporter(server, key);
    const [run, other] = [newTrace(), newTrace()];
    expect((await sendJson(jsonExport(chatRun(run)))).status).toBe(200);
    for (const body of exportsOf(run, other)) expect((await sendJson(body, '/v1/logs')).status).toBe(200);
    expect((await erase(run)).status).toBe(0);
    const text = await storedText();
    expect(text).not.toContain('secret text');
    expect(text).not.toContain(run);
  });

  test('erases an OpenTelemetry export whose log records were deleted because they waited for their trace too long', async () => {
    const { sendJson } = exporter(server, key);
    const run = newTrace();
    expect((await sendJson(logs(message(run, 'secret text')), '/v1/logs')).status).toBe(200);
    await sql('DELETE FROM countersign.log_records WHERE tenant_id = $1');
    expect(JSON.parse((await erase(run, '--json')).out)).toMatchObject({ trace: null, exports: 1 });
    expect(await storedText()).not.toContain('secret text');
    expect((await erase(run)).status).not.toBe(0);
  });

  test('erases an OpenTelemetry export in which the run has a span without a span_id', async () => {
    const { sendJson } = exporter(server, key);
    const run = newTrace();
    const spans = [{ traceId: run, spanId: '', attributes: { note: 'secret text' } }, ...chatRun(newTrace())];
    expect((await sendJson(jsonExport(spans))).status).toBe(200);
    expect(JSON.parse((await erase(run, '--json')).out)).toMatchObject({ trace: null, exports: 1 });
    expect(await storedText()).not.toContain('secret text');
  });

  test('erases the OpenTelemetry exports that contain a part of the run and were stored before migration 000007', async () => {
    const { send, sendJson } = exporter(server, key);
    const [run, other] = [newTrace(), newTrace()];
    const withoutId = { traceId: run, spanId: '', attributes: { note: 'secret text' } };
    for (let index = 0; index < 5; index += 1) expect((await sendJson(jsonExport(chatRun(newTrace())))).status).toBe(200);
    expect((await send(protobufExport([withoutId, ...chatRun(other)]), PROTOBUF)).status).toBe(200);
    expect(
      (await sendJson(logs(message(other, 'hello'), { traceId: run, body: { stringValue: 'secret text' } }), '/v1/logs')).status,
    ).toBe(200);
    await server.database.sql('ALTER TABLE countersign.export_runs DISABLE TRIGGER append_only');
    await sql('DELETE FROM countersign.export_runs WHERE tenant_id = $1');
    await server.database.sql('ALTER TABLE countersign.export_runs ENABLE ALWAYS TRIGGER append_only');
    expect(JSON.parse((await erase(run, '--json')).out)).toMatchObject({ trace: null, exports: 2 });
    expect(await count('otlp_exports')).toBe(5);
    expect(await storedText()).not.toContain('secret text');
    expect((await erase(run)).status).not.toBe(0);
  });

  test('erases nothing if a row inserted by SQL links the run to an OpenTelemetry export of another run', async () => {
    const { send, sendJson } = exporter(server, key);
    const other = newTrace();
    expect((await sendJson(jsonExport(chatRun(other)))).status).toBe(200);
    expect((await send(protobufExport(chatRun(newTrace())), PROTOBUF)).status).toBe(200);
    expect((await sendJson(logs(message(other, 'hello')), '/v1/logs')).status).toBe(200);
    await sendTrace('person ada');
    for (const { id } of await sql<{ id: string }>('SELECT id FROM countersign.otlp_exports WHERE tenant_id = $1')) {
      await sql(`INSERT INTO countersign.export_runs VALUES ($1, 'person ada', $2)`, [tenantId, id]);
      const { status, err } = await erase('person ada');
      expect([status, err]).toEqual([9, expect.stringContaining(`the export ${id} has no part of this run`)]);
      expect([await count('otlp_exports'), await count('traces')]).toEqual([3, 3]);
      await server.database.sql('ALTER TABLE countersign.export_runs DISABLE TRIGGER append_only');
      await sql(`DELETE FROM countersign.export_runs WHERE tenant_id = $1 AND trace_id = 'person ada'`);
      await server.database.sql('ALTER TABLE countersign.export_runs ENABLE ALWAYS TRIGGER append_only');
    }
    expect((await erase('person ada')).status).toBe(0);
    expect([await count('otlp_exports'), await count('traces')]).toEqual([3, 2]);
  });

  test('counts only the OpenTelemetry exports that the same command erases', async () => {
    const { sendJson } = exporter(server, key);
    const [first, second] = [newTrace(), newTrace()];
    expect((await sendJson(jsonExport([...chatRun(first), ...chatRun(second)]))).status).toBe(200);
    expect(JSON.parse((await erase(first, '--json')).out)).toMatchObject({ submissions: 1, exports: 1 });
    expect(JSON.parse((await erase(second, '--json')).out)).toMatchObject({ submissions: 1, exports: 0 });
    const entries = await sql<{ document: string }>(
      `SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 AND action = 'run.erased' ORDER BY seq`,
    );
    expect(entries.map(({ document }) => JSON.parse(document).metadata.exports)).toEqual([1, 0]);
  });

  test('refuses to erase a run that an incident names, unless --even-if-held is given', async () => {
    await sendTrace('person ada');
    await server.post(paths.audit, key, { action: 'incident.created', actor: 'me', trace_id: 'person ada' });
    const refused = await erase('person ada');
    expect([refused.status, refused.err]).toEqual([9, expect.stringContaining('--even-if-held')]);
    expect(await count('traces')).toBe(1);
    expect((await erase('person ada', '--even-if-held')).status).toBe(0);
    expect(await count('traces')).toBe(0);
  });

  test('does not find a run of another workspace', async () => {
    const other = await server.workspace();
    await server.post(paths.traces, await server.key(other), {
      trace_id: 'theirs',
      outcome: 'success',
      agent_name: 'bot',
      spans: [],
    });
    const { status, err } = await erase('theirs');
    expect([status, err]).toEqual([expect.any(Number), expect.stringContaining('no run with the trace_id "theirs"')]);
    expect(status).not.toBe(0);
  });

  test("is not possible with the server's role, which does not own the tables", async () => {
    await sendTrace('person ada');
    const { status, err } = await runCommand(
      environmentOf(server),
      ...['runs', 'erase', '--workspace', name, '--trace', 'person ada', '--rationale', 'x'],
    );
    expect([status, err]).toEqual([9, expect.stringContaining('COUNTERSIGN_MIGRATE_DATABASE_URL')]);
  });

  test('erases telemetry of a run without a trace', async () => {
    await sendTelemetry({ trace_id: 'person ada' });
    expect(JSON.parse((await erase('person ada', '--json')).out)).toMatchObject({
      trace: null,
      submissions: 0,
      telemetry_events: 1,
    });
    expect((await erase('person ada')).status).not.toBe(0);
  });
});
