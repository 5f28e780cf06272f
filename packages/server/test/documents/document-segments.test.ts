import { randomBytes } from 'node:crypto';
import { brotliCompressSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { storedDocuments } from '../harness/stored-documents.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { exporter } from '../otlp/sending.ts';
import { chatRun, jsonExport } from '../otlp/test-exports.ts';

let server: TestServer;
let workspace: string;
let tenantId: string;
let key: string;
let viewer: PortalClient;

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['trace_submissions', 'document_segments'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(async () => {
  workspace = `w-${Math.random()}`;
  tenantId = await server.workspace(workspace);
  key = await server.key(tenantId, ['telemetry']);
  viewer = await portalClient(server, tenantId, 'viewer');
});

const SYSTEM = 'You are the agent of an airline. '.repeat(100);
const runOf = (traceId: string, members: object = {}) =>
  JSON.stringify({
    trace_id: traceId,
    agent_name: 'bot',
    spans: [
      {
        span_id: 'a',
        kind: 'llm',
        name: 'plan',
        messages: [{ role: 'system', content: SYSTEM }],
        output: `Answer of ${traceId}`,
      },
    ],
    ...members,
  });
const verify = async () => {
  const { status, out } = await runCommand(
    environmentOf(server),
    'ledger',
    'verify',
    '--workspace',
    workspace,
    '--log',
    'traces',
  );
  return [status, out];
};
const readSegments = () =>
  server.database.sql<{ id: string; bytes: number; compressed: number }>(
    `SELECT id, bytes, octet_length(compressed) AS compressed FROM countersign.document_segments WHERE tenant_id = $1 ORDER BY id`,
    [tenantId],
  );

describe('documents in compressed segments', () => {
  test('traces of different sizes sent at once are returned byte for byte, from segments and not from rows', async () => {
    const bodies = Array.from({ length: 40 }, (_, index) =>
      runOf(`run-${index}`, index % 10 === 0 ? { metadata: { noise: randomBytes(index * 20_000).toString('base64') } } : {}),
    );
    const responses = await Promise.all(bodies.map((body) => server.post(paths.traces, key, body)));
    expect(responses.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    const files = await Promise.all(
      responses.map(({ body }) =>
        viewer.download('runs.submission', { params: { trace: (body as { id: string }).id, number: '1' } }),
      ),
    );
    expect(files.map(({ text }) => text)).toEqual(bodies);
    const stored = await storedDocuments(server.database.sql, 'trace_submissions', tenantId);
    expect(stored.map(String).toSorted()).toEqual(bodies.toSorted());
    const inRows = await server.database.sql(
      'SELECT FROM countersign.trace_submissions WHERE tenant_id = $1 AND document IS NOT NULL',
      [tenantId],
    );
    expect(inRows).toEqual([]);
    const { items } = await viewer.getResult('runs.spans', { params: { trace: (responses[5]!.body as { id: string }).id } });
    expect(items).toMatchObject([{ span_id: 'a', has_payload: true }]);
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid/)]);
  });

  test('telemetry and OpenTelemetry exports are returned unchanged, and compressed to under an eighth of their size', async () => {
    const events = JSON.stringify({
      events: Array.from({ length: 30 }, (_, index) => ({ trace_id: `run-${index}`, outcome: 'success', input: SYSTEM })),
    });
    expect((await server.post(paths.telemetry, key, events)).status).toBe(200);
    expect((await storedDocuments(server.database.sql, 'telemetry_submissions', tenantId)).map(String)).toEqual([events]);
    const { items: listed } = await viewer.getResult('runs.list', { query: { text: 'run-7' } });
    const event = { submission: listed[0]!.id, ordinal: '7' };
    expect((await viewer.getResult('runs.event', { params: event })).payload).toEqual({ input: SYSTEM });

    const exporting = exporter(server, key);
    const traceId = randomBytes(16).toString('hex');
    const body = jsonExport(
      chatRun(traceId).map((span) => ({ ...span, attributes: { ...span.attributes, 'input.value': SYSTEM } })),
    );
    expect((await exporting.sendJson(body)).status).toBe(200);
    const [stored] = await storedDocuments(server.database.sql, 'otlp_exports', tenantId);
    expect(JSON.parse(stored!.toString())).toEqual(JSON.parse(JSON.stringify(body)));
    const { items } = await viewer.getResult('runs.list', { query: { text: traceId } });
    const file = await viewer.download('runs.submission', { params: { trace: items[0]!.id, number: '1' } });
    expect(file.text).toBe(stored!.toString());
    const sizes = await readSegments();
    expect(sizes).toHaveLength(2);
    for (const { bytes, compressed } of sizes) expect(compressed * 8).toBeLessThan(bytes);
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid/)]);
  });

  test('rejected and repeated requests add nothing to a segment', async () => {
    const other = runOf('taken', { agent_name: 'somebody else' });
    expect((await server.post(paths.traces, key, other)).status).toBe(200);
    const repeated = runOf('repeated');
    const repeat = () => server.post(paths.traces, key, repeated, { 'idempotency-key': 'k' });
    expect((await repeat()).status).toBe(200);
    const mixed = ['a', 'b', 'c', 'd'].map((id) => server.post(paths.traces, key, runOf(id)));
    const responses = await Promise.all([...mixed, server.post(paths.traces, key, runOf('taken')), repeat()]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 422, 200]);
    const stored = await storedDocuments(server.database.sql, 'trace_submissions', tenantId);
    const bytes = (await readSegments()).reduce((sum, segment) => sum + segment.bytes, 0);
    expect(stored).toHaveLength(6);
    expect(bytes).toBe(stored.reduce((sum, { length }) => sum + length, 0));
  });
});

describe('a segment that was changed outside the server', () => {
  const send = async (traceId: string) => (await server.post(paths.traces, key, runOf(traceId))).body as { id: string };
  const readSubmission = (trace: string) => viewer.callRoute('runs.submission', { params: { trace, number: '1' } });

  test.each([
    [
      'is damaged',
      `UPDATE countersign.document_segments SET compressed = overlay(compressed PLACING '\\x000000' FROM 9) WHERE id = $1`,
    ],
    ['is gone', 'DELETE FROM countersign.document_segments WHERE id = $1'],
    [
      'has a stated length that is one byte too short',
      'UPDATE countersign.document_segments SET bytes = bytes - 1 WHERE id = $1',
    ],
    [
      'does not have the document at the offset that the row states',
      'UPDATE countersign.trace_submissions SET segment_offset = 1 WHERE segment = $1',
    ],
    [
      'starts with the document and is far longer',
      `UPDATE countersign.document_segments SET bytes = 50000000, compressed = '\\x${brotliCompressSync(
        Buffer.concat([Buffer.from(runOf('run-1'))], 50_000_000),
      ).toString('hex')}' WHERE id = $1`,
    ],
  ])('when it %s, `ledger verify` names the row that refers to it, and the portal shows no wrong document', async (_, tamper) => {
    const { id } = await send('run-1');
    expect(await verify()).toEqual([0, expect.stringMatching(/^valid/)]);
    const [segment] = await readSegments();
    await server.database.sql(tamper, [segment!.id]);
    const [status, out] = await verify();
    expect([status, out]).toEqual([1, expect.stringContaining(`the row ${id}, submission 1 differs from the log`)]);
    expect(out).toMatch(/its document cannot be read|its document is not the one/);
    const { status: readStatus, body } = await readSubmission(id);
    expect([readStatus, body]).toEqual([500, expect.objectContaining({ error: 'log_rewritten' })]);
    // The page of the run opens and reports why its content is incomplete.
    const row = { table: 'trace_submissions', id: `${id}, submission 1`, fault: expect.stringContaining('cannot be read') };
    const run = await viewer.getResult('runs.trace', { params: { trace: id } });
    expect([run.trace_id, run.differing_rows]).toEqual(['run-1', [row]]);
    const { items } = await viewer.getResult('runs.spans', { params: { trace: id } });
    expect(items).toMatchObject([{ span_id: 'a', has_payload: false }]);
    expect((await viewer.callRoute('runs.span', { params: { trace: id }, query: { span_id: 'a' } })).status).toBe(500);
  });

  test('when it contains another text, `ledger verify` names the row that refers to it', async () => {
    const { id } = await send('run-1');
    const [first] = await readSegments();
    await send('run-2');
    await server.database.sql(
      `UPDATE countersign.document_segments AS s SET compressed = other.compressed, bytes = other.bytes
         FROM countersign.document_segments AS other WHERE s.id = $1 AND other.tenant_id = $2 AND other.id <> $1`,
      [first!.id, tenantId],
    );
    expect(await verify()).toEqual([
      1,
      expect.stringContaining(`the row ${id}, submission 1 differs from the log: its document is not the one that was stored`),
    ]);
  });

  test('the portal shows no document of another workspace, even if a row refers to a segment of that workspace', async () => {
    const { id } = await send('run-1');
    const otherWorkspace = await server.workspace();
    await server.post(paths.traces, await server.key(otherWorkspace, ['telemetry']), runOf('secret'));
    const [otherSegment] = await server.database.sql<{ id: string }>(
      'SELECT id FROM countersign.document_segments WHERE tenant_id = $1',
      [otherWorkspace],
    );
    await server.database.sql('UPDATE countersign.trace_submissions SET segment = $2 WHERE tenant_id = $1', [
      tenantId,
      otherSegment!.id,
    ]);
    const { status, body } = await readSubmission(id);
    expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining('secret')]);
  });
});
