import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rowHashOf } from '@countersign/core/domain/audit-chain';
import { canonicalJson } from '@countersign/core/domain/canonical-json';
import { verifyExport } from '@countersign/core/domain/export-verifier';
import { beforeAll, describe, expect, test } from 'vitest';
import { deriveDecisionKey, digests, sha256 } from '../../src/crypto/digests.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { lockLogs } from '../../src/ledger/advance.ts';
import { appendEntries, entryOf } from '../../src/ledger/append.ts';
import { exportLog } from '../../src/ledger/export.ts';
import { verifyAuditLedger } from '../../src/ledger/verify-audit-ledger.ts';
import { verifyDecisions } from '../../src/ledger/verify-decisions.ts';
import { verifyKeyEvents } from '../../src/ledger/verify-key-events.ts';
import type { LogName } from '../../src/storage/log-heads.ts';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { correctClock } from '../../src/workspace/correct-clock.ts';
import { decideEvaluation } from '../../src/workspace/decide-evaluation.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { rebuildAllEvidence } from '../harness/evidence-log.ts';
import { runVerifier } from '../harness/independent-verifier.ts';
import { portalClient } from '../harness/portal-client.ts';
import { reseal } from '../harness/sealed.ts';
import { databaseWithShiftedClock } from '../harness/shifted-clock.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});

const JUMP_MS = 3_600_000;
/** Moves the times of the logs' heads an hour ahead of the clock. */
async function moveHeadsAhead(tenantId: string): Promise<void> {
  await server.database.sql(
    `UPDATE countersign.log_heads SET last_recorded_at = date_trunc('milliseconds', clock_timestamp()) + interval '1 hour' WHERE tenant_id = $1`,
    [tenantId],
  );
  await reseal(server.open.pool, tenantId);
}

async function exportTextOf(tenantId: string, log: LogName): Promise<string> {
  let lines = '';
  for await (const page of exportLog(server.open.pool, tenantId, log)) lines += page.lines;
  return lines;
}
async function* bytesOf(text: string) {
  yield Buffer.from(text);
}
const verifyExportText = (text: string) => verifyExport(bytesOf(text), { digests, sha256 });

/** Creates a workspace whose audit ledger has one entry with a time an hour ahead of the clock. */
async function createLedgerAhead(): Promise<{ tenantId: string; key: string }> {
  const tenantId = await server.workspace();
  const key = await server.key(tenantId);
  const now = new Date(Date.now() + JUMP_MS).toISOString();
  await inTenantTransaction(server.open.pool, tenantId, async (tx) => {
    const { audit } = await lockLogs(tx, ['audit']);
    const entry = entryOf({
      recorded_by: `key:${key.slice('aa_live_'.length).split('.')[0]}`,
      actor: 'ci',
      action: 'policy.violation',
    });
    appendEntries(tx, { ...audit, now }, [entry]);
  });
  return { tenantId, key };
}

describe('ledger correct-clock', () => {
  test('is refused when no log is ahead, and without `write` only returns the correction', async () => {
    const tenantId = await server.workspace();
    await expect(correctClock(server.open.pool, tenantId, { write: true })).rejects.toThrow(/no log .* is ahead of the clock/);
    const { tenantId: other } = await createLedgerAhead();
    const before = await exportTextOf(other, 'audit');
    const { logs } = await correctClock(server.open.pool, other, { write: false });
    expect(Object.keys(logs)).toEqual(['audit']);
    expect(await exportTextOf(other, 'audit')).toBe(before);
  });

  test('makes new entries follow the clock again, and every verifier accepts the step back in time', async () => {
    const { tenantId, key } = await createLedgerAhead();
    const { logs, now } = await correctClock(server.open.pool, tenantId, { write: true });
    expect(logs.audit).toMatchObject({ size: 1, after: now });
    await server.post(paths.audit, key, { actor: 'ci', action: 'after' });
    expect(await verifyAuditLedger(server.open.pool, tenantId)).toMatchObject({ entries: 3, firstBad: undefined });
    const text = await exportTextOf(tenantId, 'audit');
    const rows = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows[1]).toMatchObject({ action: 'clock.corrected', recorded_by: 'operator', recorded_at: now, metadata: { logs } });
    expect(Date.parse(rows[2].recorded_at)).toBeLessThan(Date.now() + 60_000);
    expect(await verifyExportText(text)).toMatchObject({ entries: 3, firstBad: undefined });
    const folder = mkdtempSync(join(tmpdir(), 'countersign-correct-clock-'));
    try {
      writeFileSync(join(folder, 'audit.ndjson'), text);
      const run = await runVerifier(['ledger', join(folder, 'audit.ndjson')]);
      expect([run.status, run.out]).toEqual([0, expect.stringMatching(/^valid: 3 entries/)]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('corrects all logs, and a promotion check allows the agent after a new evaluation', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const evaluate = () =>
      server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'jumped', pass_rate: 95, status: 'passing' });
    const check = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'jumped' })).body;
    await evaluate();
    await setEvaluationTime(server, 'jumped', `clock_timestamp() + interval '1 hour'`);
    await check();
    await moveHeadsAhead(tenantId);
    const { logs } = await correctClock(server.open.pool, tenantId, { write: true });
    expect(Object.keys(logs).sort()).toEqual(['audit', 'decisions', 'evidence', 'keys', 'traces']);
    expect(await check()).toMatchObject({
      allowed: false,
      message: expect.stringMatching(/time in the future.*record a new evaluation/),
    });
    await evaluate();
    const decision = await check();
    expect(decision.allowed).toBe(true);
    expect(Math.abs(Date.parse(decision.timestamp) - Date.now())).toBeLessThan(60_000);
    await server.key(tenantId);
    const keyOf = (tenant: string, id: string) => deriveDecisionKey(server.open.secrets.masterSecret, tenant, id);
    expect((await verifyDecisions(server.open.pool, tenantId, keyOf)).firstBad).toBeUndefined();
    expect((await verifyKeyEvents(server.open.pool, tenantId)).firstBad).toBeUndefined();
  });
});

describe('ledger correct-clock and approvals', () => {
  test('an approval with a time in the future allows nothing until the evaluation is approved again', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const evaluation = { name: 'nightly', agent_name: 'approved', pass_rate: 95, status: 'passing' };
    const { id: evaluationId } = (await server.post(paths.evaluations, key, evaluation)).body;
    await setRiskLevel(server.open.pool, tenantId, { agent: 'approved', level: 'high' }, 'operator');
    const approve = () =>
      decideEvaluation(server.open.pool, tenantId, { evaluationId, status: 'approved', rationale: 'seen' }, 'operator');
    const check = async () => (await server.post(paths.promotionCheck, key, { agent_name: 'approved' })).body;
    await approve();
    await expect(approve()).rejects.toThrow(/is approved already/);
    await server.database.sql(
      `UPDATE countersign.approvals SET decided_at = clock_timestamp() + interval '1 hour' WHERE evaluation_id = $1`,
      [evaluationId],
    );
    await rebuildAllEvidence(server);
    expect(await check()).toMatchObject({ allowed: false, message: expect.stringMatching(/approve it again/) });
    await approve();
    expect(await check()).toMatchObject({ allowed: true });
  });

  test('an approval with a time in the future returns to the queue, and no other approval does', async () => {
    const tenantId = await server.workspace();
    const key = await server.key(tenantId);
    const createApprovedEvaluation = async (agent: string): Promise<string> => {
      const { body } = await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95 });
      await setRiskLevel(server.open.pool, tenantId, { agent, level: 'high' }, 'operator');
      const decision = { evaluationId: body.id, status: 'approved', rationale: 'seen' } as const;
      await decideEvaluation(server.open.pool, tenantId, decision, 'operator');
      return body.id;
    };
    await createApprovedEvaluation('right');
    const aheadEvaluation = await createApprovedEvaluation('ahead');
    await server.database.sql(
      `UPDATE countersign.approvals SET decided_at = clock_timestamp() + interval '1 hour' WHERE evaluation_id = $1`,
      [aheadEvaluation],
    );
    await rebuildAllEvidence(server);
    await moveHeadsAhead(tenantId);
    const viewer = await portalClient(server, tenantId, 'viewer');
    const readQueue = async () => (await viewer.getResult('approvals.list')).items.map(({ evaluation }) => evaluation.id);
    expect(await correctClock(server.open.pool, tenantId, { write: false })).toMatchObject({ reopenedApprovals: 1 });
    expect(await readQueue()).toEqual([]);
    const { standing } = await viewer.getResult('approvals.read', { params: { evaluation: aheadEvaluation } });
    expect(standing).toMatchObject({ promotable: false, message: expect.stringMatching(/time in the future.*approve it again/) });
    expect(await correctClock(server.open.pool, tenantId, { write: true })).toMatchObject({ reopenedApprovals: 1 });
    expect(await readQueue()).toEqual([aheadEvaluation]);
    const { items } = await viewer.getResult('ledger.list', { query: { action: 'clock.corrected' } });
    expect(items).toHaveLength(1);
    expect(JSON.parse((await exportTextOf(tenantId, 'audit')).trim().split('\n').at(-1)!).metadata.reopened_approvals).toBe(1);
  });

  test.each([
    ['a later time', 'now', '2 hours', { reopened: 0, queued: [], allowed: true }],
    ['an earlier time', '1 hour', 'now', { reopened: 1, queued: ['bot'], allowed: false }],
  ])(
    'only the evidence log decides which approvals have a time in the future, even if the row of an approval has %s',
    async (_, logged, inRow, expected) => {
      const tenantId = await server.workspace();
      const key = await server.key(tenantId);
      const { body } = await server.post(paths.evaluations, key, { name: 'nightly', agent_name: 'bot', pass_rate: 95 });
      await setRiskLevel(server.open.pool, tenantId, { agent: 'bot', level: 'high' }, 'operator');
      const decision = { evaluationId: body.id, status: 'approved', rationale: 'seen' } as const;
      await decideEvaluation(server.open.pool, tenantId, decision, 'operator');
      const setTime = (from: string) =>
        server.database.sql(
          `UPDATE countersign.approvals SET decided_at = date_trunc('milliseconds', clock_timestamp()) + interval '${from === 'now' ? '0' : from}'
          WHERE evaluation_id = $1`,
          [body.id],
        );
      await setTime(logged);
      await rebuildAllEvidence(server);
      await setTime(inRow);
      await moveHeadsAhead(tenantId);
      expect(await correctClock(server.open.pool, tenantId, { write: true })).toMatchObject({
        reopenedApprovals: expected.reopened,
      });
      const viewer = await portalClient(server, tenantId, 'viewer');
      expect((await viewer.getResult('approvals.list')).items.map(({ agent }) => agent.name)).toEqual(expected.queued);
      expect((await server.post(paths.promotionCheck, key, { agent_name: 'bot' })).body).toMatchObject({
        allowed: expected.allowed,
      });
      const entries = (await exportTextOf(tenantId, 'audit')).trim().split('\n');
      expect(entries.find((line) => line.includes('clock.corrected'))).toContain(`"reopened_approvals":${expected.reopened}`);
    },
  );
});

test('ledger correct-clock is refused while the clocks disagree and writes nothing', async () => {
  const database = await databaseWithShiftedClock();
  const shifted = await testServer({ database });
  const tenantId = await shifted.workspace();
  const readHeads = () =>
    database.sql('SELECT log, seq, last_recorded_at FROM countersign.log_heads WHERE tenant_id = $1 ORDER BY log', [tenantId]);
  const before = await readHeads();
  for (const by of ['-1 hour', '20 years']) {
    await database.shiftClock(by);
    await expect(correctClock(shifted.open.pool, tenantId, { write: true })).rejects.toMatchObject({ code: 'clock_unsafe' });
  }
  expect(await readHeads()).toEqual(before);
});

describe('verifiers reject an export whose times go backwards', () => {
  /** Links and hashes the rows again, as an attacker with access to the database can. */
  const relink = (rows: Record<string, unknown>[]): string => {
    let prev_hash: string | null = null;
    return rows
      .map(({ row_hash: _, ...entry }) => {
        const linked: Record<string, unknown> = { ...entry, prev_hash };
        prev_hash = rowHashOf(canonicalJson(linked), digests);
        return `${JSON.stringify({ ...linked, row_hash: prev_hash })}\n`;
      })
      .join('');
  };
  type Row = Record<string, unknown> & { metadata: { logs: { audit: Record<string, unknown> } } };

  test.each<[string, (row: Row) => object]>([
    ['without an entry that allows the step back', () => ({ action: 'agent.noted' })],
    ['with an entry by an ingestion key', () => ({ recorded_by: 'key:0123456789ab' })],
    ['with an entry by a person', () => ({ recorded_by: 'user:3f1c2b7a-9d4e-4c58-8a60-5b1e7d0c9f24' })],
    [
      'with an entry that names another size',
      ({ metadata: { logs } }) => ({ metadata: { logs: { audit: { ...logs.audit, size: 2 } } } }),
    ],
    [
      'with an entry whose `before` is wrong',
      ({ metadata: { logs } }) => ({
        metadata: { logs: { audit: { ...logs.audit, before: '2026-01-01T00:00:00.000Z' } } },
      }),
    ],
    [
      'with an entry whose `after` is wrong',
      ({ metadata: { logs } }) => ({
        metadata: { logs: { audit: { ...logs.audit, after: logs.audit.before } } },
      }),
    ],
    ['with an entry for another log', ({ metadata: { logs } }) => ({ metadata: { logs: { keys: logs.audit } } })],
    ['with an entry without metadata', () => ({ metadata: null })],
  ])('%s', async (_, change) => {
    const { tenantId } = await createLedgerAhead();
    await correctClock(server.open.pool, tenantId, { write: true });
    const rows = (await exportTextOf(tenantId, 'audit'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    expect((await verifyExportText(relink(rows))).firstBad).toBeUndefined();
    const altered = relink([rows[0]!, { ...rows[1]!, ...change(rows[1]!) }]);
    expect((await verifyExportText(altered)).firstBad).toEqual({
      seq: 2,
      reason: expect.stringMatching(/is earlier than \S+ of the previous row/),
    });
    const run = await runVerifier(['ledger', '-'], altered);
    expect([run.status, run.out]).toEqual([1, expect.stringMatching(/recorded_at goes backwards/)]);
  });
});
