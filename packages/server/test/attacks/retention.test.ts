import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrokenSealError } from '../../src/database/broken-seals.ts';
import { openRolePool } from '../../src/database/pools.ts';
import { LogRewrittenError } from '../../src/ledger/log-tree.ts';
import { dropDueRecords } from '../../src/retention/drop-due-records.ts';
import { setRetention } from '../../src/workspace/set-retention.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let pool: Pool;
let tenantId = '';
let key = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  pool = openRolePool(server.database.owner, server.open, 'retention');
  for (const table of ['audit_entries', 'retention_periods'])
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
const sql = (statement: string) => server.database.sql(statement.replaceAll('$T', `tenant_id = '${tenantId}'`));
const dropAfter = (days: number) =>
  dropDueRecords(pool, tenantId, { now: new Date(Date.now() + days * 86_400_000).toISOString() });

const NEWEST = `$T AND action = 'retention.changed' AND recorded_by = 'operator'
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
      `UPDATE countersign.audit_entries SET action = 'x' WHERE ${NEWEST}`,
    ],
    [
      "changes the column `recorded_by` of the period's ledger entry",
      BrokenSealError,
      `UPDATE countersign.audit_entries SET recorded_by = 'key:0123456789ab' WHERE ${NEWEST}`,
    ],
    [
      "changes the period's whole ledger entry",
      LogRewrittenError,
      `UPDATE countersign.audit_entries SET action = 'retention-changed', document = replace(document, 'retention.changed', 'retention-changed')
        WHERE ${NEWEST}`,
    ],
    ["deletes the period's ledger entry", LogRewrittenError, `DELETE FROM countersign.audit_entries WHERE ${NEWEST}`],
  ])('and %s, the server drops nothing', async (_, reason, attack) => {
    if (attack !== undefined) await sql(attack);
    await expect(dropAfter(2)).rejects.toThrow(reason);
    expect(await sql('SELECT trace_id FROM countersign.traces WHERE $T')).toEqual([{ trace_id: 'run-1' }]);
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
