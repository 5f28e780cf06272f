import { hash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { paths, type TestResponse, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId: string;
let key: string;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

describe('telemetry', () => {
  const events = (traceIds: string[]) =>
    server.database.sql(
      'SELECT * FROM countersign.telemetry_events WHERE trace_id = ANY ($1::text[]) ORDER BY submission, ordinal',
      [traceIds],
    );

  test('is stored as single events in order, whether it arrives as one event or as a batch of 200', async () => {
    const one = {
      trace_id: randomUUID(),
      outcome: 'any label',
      tool_count: 3,
      prompt_tokens: 2,
      completion_tokens: 3,
      cost_usd: 0.5,
      events: null,
    };
    expect(await server.post(paths.telemetry, key, one)).toMatchObject({ status: 200, body: { ok: true, ingested: 1 } });
    expect(await events([one.trace_id])).toMatchObject([
      { outcome: 'any label', tool_count: 3, total_tokens: 5, cost_usd: '0.5', ordinal: 0, has_error: false },
    ]);
    const ids = Array.from({ length: 200 }, () => randomUUID());
    const batch = {
      events: ids.map((trace_id, n) => ({ trace_id, outcome: `o${n}`, error: n % 2 ? 'x' : '' })),
      other: 'is ignored',
    };
    expect((await server.post(paths.telemetry, key, batch)).body).toEqual({ ok: true, ingested: 200 });
    const rows = await events(ids);
    expect(rows.map(({ trace_id, ordinal }) => [trace_id, ordinal])).toEqual(ids.map((id, index) => [id, index]));
    expect(rows.map(({ has_error }) => has_error)).toEqual(ids.map((_, index) => index % 2 === 1));
  });

  test('is not merged when events of one trace_id are repeated', async () => {
    const event = { trace_id: randomUUID(), outcome: 'success' };
    await server.post(paths.telemetry, key, { events: [event, event] });
    await server.post(paths.telemetry, key, event);
    expect(await events([event.trace_id])).toHaveLength(3);
  });

  test('is stored byte for byte if it is sent as a batch', async () => {
    const document = `{"events" :[ {"trace_id":"t","outcome":"ok","input":"\\u0000\\ud800","x":{"a":1,"a":2}} ]}\n`;
    await server.post(paths.telemetry, key, document);
    expect(
      await server.database.sql('SELECT 1 FROM countersign.telemetry_submissions WHERE document = $1', [document]),
    ).toHaveLength(1);
  });
});

describe('evaluations', () => {
  test('are stored unchanged as separate records, by default without an agent and with the status passing', async () => {
    const document = '{"name":"lonely", "notes":"\\u0000 and \u{1F600}", "severity_threshold":-1.5e3}';
    const ids = [];
    for (let sentCount = 0; sentCount < 2; sentCount += 1)
      ids.push((await server.post(paths.evaluations, key, document)).body.id);
    const rows = await server.database.sql(
      `SELECT id, agent_id, status, pass_rate, severity_threshold, document FROM countersign.evaluations WHERE name = 'lonely' ORDER BY seq`,
    );
    const row = { agent_id: null, status: 'passing', pass_rate: null, severity_threshold: -1500, document };
    expect(rows).toEqual(ids.map((id) => ({ id, ...row })));
  });
});

/** A second implementation of JCS, written from docs/formats.md: sorted members, no white space, ECMAScript's numbers and strings. */
function jcs(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jcs(member)}`).join(',')}}`;
}
const rowHash = (entry: object) => hash('sha256', `countersign/audit-entry/v1\n${jcs(entry)}`);

describe('the audit ledger', () => {
  const BODIES = [
    '{"actor":"ci:deploy-prod","action":"agent.promoted"}',
    JSON.stringify({
      ...{
        actor: 'J\u00fcrgen',
        action: 'policy.changed',
        subject: '',
        rationale: '\u0000 \u0001 \u007f \u2028 \u{1F600} "\\/',
        framework: 'EU AI Act',
      },
      ...{ trace_id: 'run-1', agent_id: null, retention_until: '2028-02-29', metadata: {} },
    }),
    '{"actor":"a","action":"b","metadata":{"__proto__":{"x":1},"constructor":2,"\\u0000":[null,true,"\\ud83d\\ude00"],"10":1,"9":2,"\ufb33":3,"\u{1F600}":4}}',
    '{"actor":"a","action":"b","metadata":{"n":[1.0,1E2,1e21,0.000001,1e-7,5e-324,1.7976931348623157e308,-273.15,9007199254740992]}}',
    ' {\n"action" : "b", "metadata":{"deep":{"b":[{}],"a":[[]]}},\t"actor":"a" } ',
  ];

  test('links each entry to the previous one by the hash that docs/formats.md defines, and the response contains both hashes', async () => {
    const responses: TestResponse[] = [];
    for (const body of BODIES) responses.push(await server.post(paths.audit, key, body));
    const rows = await server.database.sql<{ seq: number; document: string; row_hash: string; prev_hash: string | null }>(
      `SELECT seq, document, encode(row_hash, 'hex') AS row_hash, encode(prev_hash, 'hex') AS prev_hash
         FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq`,
      [tenantId],
    );
    expect(rows).toHaveLength(BODIES.length);
    for (const [index, { body, status, headers }] of responses.entries()) {
      const prevHash = index === 0 ? null : responses[index - 1]!.body.row_hash;
      const { document, ...row } = rows[index]!;
      const entry = JSON.parse(document);
      expect([status, headers.get('countersign-ledger-seq')]).toEqual([200, String(index + 1)]);
      expect(body).toEqual({ ok: true, id: entry.id, row_hash: rowHash(entry), prev_hash: prevHash });
      expect(row).toEqual({ seq: index + 1, row_hash: body.row_hash, prev_hash: prevHash });
      expect(document).toBe(jcs(entry));
      const { id, recorded_at, ...sentMembers } = entry;
      expect(recorded_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const defaults = { subject: null, rationale: null, framework: null, trace_id: null, agent_id: null, retention_until: null };
      const serverMembers = {
        version: 1,
        tenant_id: tenantId,
        seq: index + 1,
        recorded_by: `key:${key.slice(8, 20)}`,
        prev_hash: prevHash,
      };
      expect(jcs(sentMembers)).toBe(jcs({ ...defaults, metadata: null, ...JSON.parse(BODIES[index]!), ...serverMembers }));
    }
  });

  test('accepts a known agent by its ID and stores the ID in lower case', async () => {
    const id = randomUUID();
    await server.post(paths.evaluations, key, { name: 'registers', agent_id: id, agent_name: 'audited' });
    const { status, body } = await server.post(paths.audit, key, { actor: 'a', action: 'b', agent_id: id.toUpperCase() });
    expect(status).toBe(200);
    const [row] = await server.database.sql<{ document: string; agent_id: string }>(
      'SELECT document, agent_id FROM countersign.audit_entries WHERE id = $1',
      [body.id],
    );
    expect([JSON.parse(row!.document).agent_id, row!.agent_id]).toEqual([id, id]);
  });
});
