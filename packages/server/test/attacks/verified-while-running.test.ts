import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { watchLogs } from '../../src/background/log-watch.ts';
import type { LogReport } from '../../src/ledger/row-findings.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const lines: string[] = [];
let server: TestServer;
let tenantId = '';
let viewer: PortalClient;

beforeAll(async () => {
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
  server = await testServer({ checkpointSeconds: undefined, log });
  tenantId = await server.workspace('verified');
  const key = await server.key(tenantId);
  const record = async (path: string, body: object) => expect((await server.post(path, key, body)).status).toBe(200);
  for (const action of ['built', 'deployed', 'checked']) await record(paths.audit, { actor: 'ci', action });
  await record(paths.evaluations, { name: 'nightly', agent_name: 'bot', pass_rate: 91 });
  await record(paths.promotionCheck, { agent_name: 'bot' });
  viewer = await portalClient(server, tenantId, 'viewer');
  for (const table of ['audit_entries', 'decisions', 'evidence_events', 'ingestion_keys'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});

/** What the server reports after it has verified every log. */
async function reportedFindings() {
  await server.verifyLogs();
  const { warnings = [] } = (await (await fetch(`${server.url}/readyz`)).json()) as { warnings?: string[] };
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return {
    warnings: warnings.filter((warning) => warning.includes('differ from their log')),
    metric: /^countersign_log_findings (\d+)$/m.exec(metrics)?.[1],
    overview: (await viewer.getResult('overview.read')).differing_rows,
  };
}

interface Attack {
  description: string;
  /** The changed value: table, column and the condition that selects its row. */
  at: [table: string, column: string, condition: string];
  change: (value: string) => string;
  findings: { table: string; id: unknown; fault: unknown }[];
}

const ATTACKS: Attack[] = [
  {
    description: 'an entry of the audit ledger',
    at: ['audit_entries', 'document', 'seq = 2'],
    change: (document) => document.replace('deployed', 'reverted'),
    findings: [{ table: 'audit_entries', id: '2', fault: expect.stringContaining('row_hash') }],
  },
  {
    description: 'the column actor of an entry',
    at: ['audit_entries', 'actor', 'seq = 1'],
    change: () => 'mallory',
    findings: [{ table: 'audit_entries', id: '1', fault: expect.stringContaining('actor') }],
  },
  {
    description: 'the verdict of a decision',
    at: ['decisions', 'document', 'seq = 1'],
    change: (document) => document.replace('"allowed":true', '"allowed":false'),
    findings: [{ table: 'decisions', id: '1', fault: expect.stringContaining('response_sha256') }],
  },
  {
    description: 'an event of the evidence log, on which a decision is based,',
    at: ['evidence_events', 'document', 'seq = 2'],
    change: (document) => document.replace('"pass_rate":91', '"pass_rate":19'),
    findings: [
      { table: 'decisions', id: '1', fault: 'evaluation of its evidence does not follow from the evidence log' },
      { table: 'evidence_events', id: '2', fault: expect.stringContaining('the event was altered') },
    ],
  },
  {
    description: 'the name of a key in its table',
    at: ['ingestion_keys', 'name', `kind = 'live'`],
    change: () => 'other',
    findings: [
      { table: 'ingestion_keys', id: expect.stringMatching(/^[0-9a-zA-Z]{8,}$/), fault: 'its ID, kind or name is different' },
    ],
  },
];

describe('the periodic verification of the logs', () => {
  test.each(ATTACKS)('reports a change of $description until the change is undone', async ({ at, change, findings }) => {
    const [table, column, condition] = at;
    const fromClause = `FROM countersign.${table} WHERE tenant_id = $1 AND ${condition}`;
    const [row] = await server.database.sql<{ value: string }>(`SELECT ${column}::text AS value ${fromClause}`, [tenantId]);
    const { value } = row!;
    const write = (to: string) =>
      server.database.sql(`UPDATE countersign.${table} SET ${column} = $2 WHERE tenant_id = $1 AND ${condition}`, [tenantId, to]);
    const noFindings = { warnings: [], metric: '0', overview: [] };
    expect(await reportedFindings()).toEqual(noFindings);
    lines.length = 0;
    expect(change(value)).not.toBe(value);
    await write(change(value));
    const warnings = [expect.stringContaining(`(${findings.map((finding) => finding.table).join(', ')})`)];
    expect(await reportedFindings()).toEqual({ warnings, metric: String(findings.length), overview: findings });
    await reportedFindings();
    const reported = lines.map((line) => JSON.parse(line)).filter(({ fault }) => fault !== undefined);
    expect(reported).toEqual(findings.map((finding) => expect.objectContaining({ ...finding, tenantId, level: 50 })));
    await write(value);
    expect(await reportedFindings()).toEqual(noFindings);
  });

  test('reports that a log contradicts a checkpoint, in addition to rows of a table that differ from the log', async () => {
    const findings = [{ table: 'evaluations', id: 'e-1', fault: 'its row is gone' }];
    const report = { tenantId, entries: 1, head: null, firstBad: undefined, findings };
    const findingsFor = async (source: string): Promise<unknown[]> => {
      const contradiction = { source, size: 1, reason: 'differs' };
      const verify = async (): Promise<LogReport> => ({ ...report, contradiction });
      const watch = watchLogs(server.open, pino({ level: 'silent' }), { logs: ['evidence'], verify });
      await watch.round();
      watch.stop();
      return [...watch.findings.of(tenantId)];
    };
    const checkpoint = { table: 'evidence_events', id: 'checkpoint 1', fault: 'differs' };
    expect(await findingsFor('checkpoint 1')).toEqual([checkpoint, ...findings]);
    expect(await findingsFor('the table evaluations')).toEqual(findings);
  });

  test('reports the other logs when one log cannot be verified, and keeps the earlier findings about that log', async () => {
    const warned: Record<string, unknown>[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void warned.push(JSON.parse(line)) });
    const broken = (seq: number): LogReport => ({ tenantId, entries: 0, head: null, firstBad: { seq, reason: 'altered' } });
    let audit = (): LogReport => broken(7);
    const verify = async (_tenantId: string, name: string) => (name === 'audit' ? audit() : broken(3));
    const watch = watchLogs(server.open, log, { logs: ['audit', 'keys'], verify });
    await watch.round();
    audit = () => {
      throw new Error('a page cannot be read');
    };
    warned.length = 0;
    await watch.round();
    watch.stop();
    expect(warned).toEqual([expect.objectContaining({ tenantId, log: 'audit', reason: 'a page cannot be read' })]);
    const findings = watch.findings.of(tenantId).map(({ table, id }) => [table, id]);
    expect(findings.sort()).toEqual([
      ['audit_entries', '7'],
      ['key_events', '3'],
    ]);
    const newWatch = watchLogs(server.open, log, { logs: ['audit', 'keys'], verify });
    await newWatch.round();
    newWatch.stop();
    expect(newWatch.findings.of(tenantId).map(({ table }) => table)).toEqual(['key_events']);
  });

  test('reports a key whose row was deleted', async () => {
    const deleted = 'DELETE FROM countersign.ingestion_keys WHERE tenant_id = $1 AND kind = $2 RETURNING prefix';
    const [row] = await server.database.sql<{ prefix: string }>(deleted, [tenantId, 'live']);
    await server.verifyLogs();
    const { differing_rows: rows } = await viewer.getResult('overview.read');
    expect(rows).toEqual([{ table: 'ingestion_keys', id: row!.prefix, fault: 'it was deleted outside the server' }]);
  });
});
