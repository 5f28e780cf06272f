import { beforeAll, describe, expect, test } from 'vitest';
import { correctClock } from '../../src/workspace/correct-clock.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { reseal } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;

/** Writes three audit entries and three decisions. */
async function writeRecords(): Promise<void> {
  for (let count = 0; count < 3; count += 1) {
    await server.post(paths.audit, key, { actor: 'ci', action: 'build.done' });
    expect((await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body.allowed).toBe(true);
  }
}

/** Moves the times of the rows after row 3 of both logs, and of all heads, an hour into the future. */
async function moveTimesAhead(): Promise<void> {
  for (const table of ['audit_entries', 'decisions']) {
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER append_only`);
    await server.database.sql(
      `UPDATE countersign.${table} SET recorded_at = recorded_at + interval '1 hour' WHERE tenant_id = $1 AND seq > 3`,
      [workspace],
    );
    await server.database.sql(`ALTER TABLE countersign.${table} ENABLE ALWAYS TRIGGER append_only`);
  }
  await server.database.sql(
    `UPDATE countersign.log_heads SET last_recorded_at = last_recorded_at + interval '1 hour' WHERE tenant_id = $1`,
    [workspace],
  );
  await reseal(server.open.pool, workspace);
}

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
  await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95 });
});

describe('a list filtered by time after the clock was corrected', () => {
  const seqsOf = async (list: 'ledger.list' | 'decisions.list', query: Record<string, string> = {}) =>
    (await viewer.getResult(list, { query })).items.map(({ seq }) => seq);

  test('finds later records, and treats records with a future time as recorded at the time of the correction', async () => {
    await writeRecords();
    await writeRecords();
    await moveTimesAhead();
    const { now } = await correctClock(server.open.pool, workspace, { write: true });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await writeRecords();
    const since = new Date(Date.parse(now) + 1).toISOString();
    const halfAnHourLater = new Date(Date.parse(now) + 1_800_000).toISOString();
    // Row 7 of the audit ledger records the correction.
    expect(await seqsOf('ledger.list', { from: since })).toEqual([10, 9, 8]);
    expect(await seqsOf('ledger.list', { from: now })).toEqual([10, 9, 8, 7, 6, 5, 4]);
    expect(await seqsOf('ledger.list', { to: now })).toEqual([3, 2, 1]);
    expect(await seqsOf('ledger.list', { to: halfAnHourLater })).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await seqsOf('ledger.list', { from: halfAnHourLater })).toEqual([]);
    expect(await seqsOf('decisions.list', { from: since })).toEqual([9, 8, 7]);
    expect(await seqsOf('decisions.list', { from: now })).toEqual([9, 8, 7, 6, 5, 4]);
    expect(await seqsOf('decisions.list', { to: now })).toEqual([3, 2, 1]);
    expect(await seqsOf('decisions.list', { to: halfAnHourLater })).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test('ignores an entry clock.corrected that an ingestion key wrote', async () => {
    const metadata = {
      logs: { audit: { size: 10, before: '2046-01-01T00:00:00.000Z', after: '2020-01-01T00:00:00.000Z' } },
    };
    await server.post(paths.audit, key, { actor: 'ci', action: 'clock.corrected', metadata });
    const [row] = await server.database.sql<{ at: string }>(
      `SELECT to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at FROM countersign.audit_entries WHERE tenant_id = $1 AND seq = 8`,
      [workspace],
    );
    expect(await seqsOf('ledger.list', { from: row!.at })).toEqual([11, 10, 9, 8]);
  });
});
