import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { Insider } from './insider.ts';

let server: TestServer;
let insider: Insider;
const lines: string[] = [];

beforeAll(async () => {
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  server = await testServer({ checkpointSeconds: undefined, log });
  insider = await Insider.open(server.database);
  return () => insider.close();
});

const evaluate = (key: string) => server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95 });
const check = (key: string) => server.post(paths.promotionCheck, key, { agent_name: 'bot' });
const append = (key: string) =>
  server.post(paths.audit, key, { actor: 'ci', action: 'deployed' }, { 'idempotency-key': randomUUID() });
const sendTrace = (key: string) =>
  server.post(paths.traces, key, { trace_id: randomUUID(), agent_name: 'bot', status: 'success' });

/** The number of warnings about refused logs in /readyz, and the value of the metric countersign_logs_refused. */
async function reportedState(): Promise<unknown[]> {
  const [ready, metrics] = await Promise.all([fetch(`${server.url}/readyz`), fetch(`${server.url}/metrics`)]);
  const { warnings = [] } = (await ready.json()) as { warnings?: string[] };
  const refusedWarnings = warnings.filter((warning) => warning.startsWith('logs refused'));
  return [refusedWarnings.length, /^countersign_logs_refused (\d+)$/m.exec(await metrics.text())?.[1]];
}

test.each([
  ['evidence', 'evidence_events', {}, evaluate],
  ['decisions', 'decisions', { id: randomUUID() }, check],
  ['audit', 'audit_entries', { id: randomUUID(), prev_hash: `\\x${'ab'.repeat(32)}` }, append],
  ['traces', 'trace_events', {}, sendTrace],
] as const)(
  'while a row is stored after the head of the log %s, appends to this log fail with log_rewritten',
  async (log, table, columns, write) => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    for (const fill of [evaluate, check, append, sendTrace]) expect((await fill(key)).status).toBe(200);
    const [{ seq }] = (await insider.sql<{ seq: number }>(
      `SELECT max(seq)::integer + 1 AS seq FROM countersign.${table} WHERE $T`,
      tenantId,
    )) as [{ seq: number }];
    await insider.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`, tenantId);
    await insider.sql(
      `INSERT INTO countersign.${table}
     SELECT (jsonb_populate_record(d, $1::jsonb)).* FROM countersign.${table} AS d WHERE $T AND seq = $2`,
      tenantId,
      [JSON.stringify({ ...columns, seq }), seq - 1],
    );
    expect(await write(key)).toMatchObject({ status: 500, body: { error: 'log_rewritten' } });
    // The log is still reported after requests that read its head, which is valid.
    await check(key);
    await (await portalClient(server, tenantId, 'viewer')).getResult('overview.read');
    expect(await reportedState()).toEqual([1, '1']);
    expect(lines.join('')).toContain(
      `the log ${log} of tenant ${tenantId}: a row after its sealed head (number ${seq} or lower) was written outside the server`,
    );
    await insider.sql(`DELETE FROM countersign.${table} WHERE $T AND seq = $1`, tenantId, [seq]);
    expect((await write(key)).status).toBe(200);
    expect(await reportedState()).toEqual([0, '0']);
  },
);
