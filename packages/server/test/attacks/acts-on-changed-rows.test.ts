import { createHash, randomUUID } from 'node:crypto';
import { EVIDENCE_DOMAIN } from '@countersign/core/domain/evidence-event';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EvidenceBrokenError } from '../../src/ledger/evidence-broken.ts';
import { LogRewrittenError } from '../../src/ledger/log-tree.ts';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { archiveAgent } from '../../src/workspace/archive-agent.ts';
import { decideEvaluation, type EvaluationDecision } from '../../src/workspace/decide-evaluation.ts';
import { recordViolation } from '../../src/workspace/record-violation.ts';
import { RuleViolationError } from '../../src/workspace/rule-violation.ts';
import { withdrawApproval } from '../../src/workspace/withdraw-approval.ts';
import { environmentOf, runCommand } from '../fixtures/run-command.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId = '';
let key = '';
let agent = '';
let agentId = '';
let evaluation = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['agents', 'evaluations', 'approvals', 'evidence_events'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(async () => {
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  [agent, agentId, evaluation] = await createHighRiskAgent();
});

/** Records an evaluation of a new high-risk agent. Returns the agent's name and ID, and the ID of the evaluation. */
async function createHighRiskAgent(): Promise<[name: string, id: string, evaluation: string]> {
  const name = `bot-${randomUUID()}`;
  const { body } = await server.post(paths.evaluations, key, { name: 'nightly', agent_name: name, pass_rate: 95 });
  await setRiskLevel(server.open.pool, tenantId, { agent: name, level: 'high' }, 'operator');
  const [row] = await server.database.sql<{ id: string }>('SELECT id FROM countersign.agents WHERE name = $1', [name]);
  return [name, row!.id, body.id];
}

const decide = (status: EvaluationDecision['status']) =>
  decideEvaluation(server.open.pool, tenantId, { evaluationId: evaluation, status, rationale: 'read it' }, 'operator');
const withdraw = () =>
  withdrawApproval(server.open.pool, tenantId, { evaluationId: evaluation, rationale: 'in doubt' }, 'operator');
const requestReason = async () => (await server.post(paths.promotionCheck, key, { agent_name: agent })).body.reason;
const sql = (statement: string, values: unknown[] = []) => server.database.sql(statement, values);
const moveEvaluation = (to: string) => sql('UPDATE countersign.evaluations SET agent_id = $1 WHERE id = $2', [to, evaluation]);

/** Action, subject and agent ID of the last entry of the audit ledger. */
async function lastEntry(): Promise<Record<string, unknown>> {
  const [row] = await server.database.sql<{ document: string }>(
    'SELECT document FROM countersign.audit_entries WHERE tenant_id = $1 ORDER BY seq DESC LIMIT 1',
    [tenantId],
  );
  const { action, subject, agent_id } = JSON.parse(row!.document);
  return { action, subject, agent_id };
}

/** Records another evaluation of the agent, so that promotion checks no longer use the first one. */
const recordLaterEvaluation = () => server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 20 });

/** Swaps the names of two agents in their table. */
async function swapNames(one: string, other: string): Promise<void> {
  const rename = (from: string, to: string) => sql('UPDATE countersign.agents SET name = $2 WHERE name = $1', [from, to]);
  await rename(one, 'swapping');
  await rename(other, one);
  await rename('swapping', other);
}

describe('the withdrawal of an approval, after rows were changed outside the server,', () => {
  const setPending = () =>
    sql(
      `UPDATE countersign.approvals SET status = 'pending', decided_at = NULL, decided_by = NULL, rationale = NULL, decided_seq = NULL
        WHERE evaluation_id = $1`,
      [evaluation],
    );

  test('takes the agent from the log, so that no event names an agent that is only in the table', async () => {
    await decide('approved');
    const ghost = randomUUID();
    await sql(`INSERT INTO countersign.agents (tenant_id, id, name) VALUES ($1, $2, 'ghost')`, [tenantId, ghost]);
    await moveEvaluation(ghost);
    await withdraw();
    expect(await lastEntry()).toEqual({ action: 'approval.withdrawn', subject: agent, agent_id: agentId });
    expect(await requestReason()).toBe('approval_required');
    const environment = environmentOf(server);
    const verified = await runCommand(environment, 'ledger', 'verify', '--workspace', tenantId, '--log', 'evidence');
    expect(verified.out).toContain(`the row ${evaluation} differs from the log: agent_id is "${ghost}"`);
  });

  test('is accepted for an approval that the log has, although its row was set to pending', async () => {
    await decide('approved');
    await setPending();
    await withdraw();
    expect(await requestReason()).toBe('approval_required');
  });

  test('is refused for an approval that a decision has used, although its row was set to pending', async () => {
    await decide('approved');
    expect(await requestReason()).toBe('all_conditions_met');
    await setPending();
    const before = await lastEntry();
    await expect(withdraw()).rejects.toThrow('was used by decision');
    expect(await lastEntry()).toEqual(before);
  });

  test('is refused for an approval that is only in the table', async () => {
    await sql(
      `INSERT INTO countersign.approvals (tenant_id, evaluation_id, agent_id, status, requested_at, requested_seq, requested_by,
         decided_at, decided_by, rationale, decided_seq)
       VALUES ($1, $2, $3, 'approved', now(), 999999, 'operator', now(), 'operator', 'seen', 1)`,
      [tenantId, evaluation, agentId],
    );
    await expect(withdraw()).rejects.toThrow(RuleViolationError);
  });
});

describe('a decision of an approver, after rows were changed outside the server,', () => {
  test.each([
    ['agent', async () => moveEvaluation((await createHighRiskAgent())[1])],
    ['pass rate', () => sql('UPDATE countersign.evaluations SET pass_rate = 100 WHERE id = $1', [evaluation])],
    ['document', () => sql(`UPDATE countersign.evaluations SET document = '{}' WHERE id = $1`, [evaluation])],
  ])(
    'is refused if it approves and the row of the evaluation has another %s, because the approver may have seen the changed row',
    async (_, attack) => {
      await attack();
      await expect(decide('approved')).rejects.toThrow(EvidenceBrokenError);
      expect(await requestReason()).toBe('approval_required');
      const args = ['approvals', 'approve', '--workspace', tenantId, '--evaluation', evaluation, '--rationale', 'read it'];
      const { status, err } = await runCommand(environmentOf(server), ...args);
      expect([status, err]).toEqual([9, expect.stringContaining(`evaluations: the row ${evaluation}`)]);
    },
  );

  test('is refused if it approves and the names of two agents are swapped in their table', async () => {
    await swapNames(agent, (await createHighRiskAgent())[0]);
    await expect(decide('approved')).rejects.toThrow(EvidenceBrokenError);
    expect(await requestReason()).toBe('approval_required');
  });

  test('takes the agent from the log if it rejects', async () => {
    await decide('approved');
    await moveEvaluation((await createHighRiskAgent())[1]);
    await decide('rejected');
    expect(await lastEntry()).toEqual({ action: 'approval.rejected', subject: agent, agent_id: agentId });
    expect(await requestReason()).toBe('approval_rejected');
  });
});

describe('an act on an evaluation that is not the latest of its agent, after rows were changed outside the server,', () => {
  beforeEach(recordLaterEvaluation);

  test.each([
    ['agent', async () => moveEvaluation((await createHighRiskAgent())[1])],
    ['pass rate', () => sql('UPDATE countersign.evaluations SET pass_rate = 100 WHERE id = $1', [evaluation])],
    ['document', () => sql(`UPDATE countersign.evaluations SET document = '{}' WHERE id = $1`, [evaluation])],
  ])('is refused if it approves and the row of the evaluation has another %s', async (_, attack) => {
    await attack();
    const before = await lastEntry();
    await expect(decide('approved')).rejects.toThrow(EvidenceBrokenError);
    expect(await lastEntry()).toEqual(before);
  });

  test('takes the agent from the log', async () => {
    await decide('approved');
    await moveEvaluation((await createHighRiskAgent())[1]);
    await withdraw();
    expect(await lastEntry()).toEqual({ action: 'approval.withdrawn', subject: agent, agent_id: agentId });
    await decide('rejected');
    expect(await lastEntry()).toEqual({ action: 'approval.rejected', subject: agent, agent_id: agentId });
  });

  test('is refused if the evidence log has no such evaluation', async () => {
    const inserted = randomUUID();
    await sql(
      `INSERT INTO countersign.evaluations (tenant_id, id, seq, recorded_at, recorded_by, agent_id, name, status, pass_rate, document)
       SELECT tenant_id, $2, -5, recorded_at, recorded_by, agent_id, name, status, pass_rate, document
         FROM countersign.evaluations WHERE id = $1`,
      [evaluation, inserted],
    );
    evaluation = inserted;
    const before = await lastEntry();
    for (const act of [() => decide('approved'), () => decide('rejected'), withdraw])
      await expect(act()).rejects.toThrow(EvidenceBrokenError);
    expect(await lastEntry()).toEqual(before);
  });

  test('is refused if the row and the event of the evaluation have the same change, and the hash of the event was recomputed', async () => {
    const [, otherId] = await createHighRiskAgent();
    const before = await lastEntry();
    await moveEvaluation(otherId);
    // The server has cached the state of the log already. Only the decision below reads this event again.
    const [event] = await server.database.sql<{ seq: number; document: string }>(
      `SELECT seq, document FROM countersign.evidence_events WHERE tenant_id = $1 AND strpos(document, $2) > 0`,
      [tenantId, evaluation],
    );
    const document = event!.document.replace(agentId, otherId);
    await sql('UPDATE countersign.evidence_events SET document = $3, event_hash = $4 WHERE tenant_id = $1 AND seq = $2', [
      tenantId,
      event!.seq,
      document,
      createHash('sha256').update(EVIDENCE_DOMAIN).update(document).digest(),
    ]);
    await expect(decide('rejected')).rejects.toThrow(LogRewrittenError);
    expect(await lastEntry()).toEqual(before);
  });
});

describe('an approver whose page showed rows that were changed outside the server, and restored before the decision,', () => {
  /** Reads the page of the evaluation while the rows are changed. Returns the digest of what the page showed. */
  async function digestShownDuring(approver: PortalClient, change: () => Promise<unknown>, undo: () => Promise<unknown>) {
    await change();
    const { seen } = await approver.getResult('approvals.read', { params: { evaluation } });
    await undo();
    return seen;
  }
  const setColumn = (column: string, value: unknown) => () =>
    sql(`UPDATE countersign.evaluations SET ${column} = $2 WHERE id = $1`, [evaluation, value]);

  test.each(['approvals.approve', 'approvals.reject', 'approvals.withdraw'] as const)(
    'gets an error from %s that names the agent in the log, and nothing is recorded',
    async (route) => {
      const approver = await portalClient(server, tenantId, 'approver');
      const [other] = await createHighRiskAgent();
      if (route === 'approvals.withdraw') await decide('approved');
      const swap = () => swapNames(agent, other);
      const seen = await digestShownDuring(approver, swap, swap);
      const before = await lastEntry();
      const { status, body } = await approver.callRoute(route, { params: { evaluation }, body: { rationale: 'read it', seen } });
      expect([status, body.issues[0].message]).toEqual([
        409,
        expect.stringContaining(`agent ${JSON.stringify(agent)}, status passing, pass rate 95 %`),
      ]);
      expect(await lastEntry()).toEqual(before);
      const unchanged = await digestShownDuring(
        approver,
        async () => {},
        async () => {},
      );
      const repeated = await approver.callRoute(route, {
        params: { evaluation },
        body: { rationale: 'read it', seen: unchanged },
      });
      expect(repeated.status).toBe(200);
    },
  );

  test.each([
    ['pass_rate', 100, 95],
    ['status', 'failing', 'passing'],
    ['name', 'weekly', 'nightly'],
    ['category', 'safety', null],
    ['suite', 'other', null],
    ['evaluated_at', '2026-01-01T00:00:00Z', null],
    ['harness_id', randomUUID(), null],
  ])('cannot approve the evaluation if the page showed another %s', async (column, changed, stored) => {
    const approver = await portalClient(server, tenantId, 'approver');
    const seen = await digestShownDuring(approver, setColumn(column, changed), setColumn(column, stored));
    const body = { rationale: 'read it', seen };
    expect((await approver.callRoute('approvals.approve', { params: { evaluation }, body })).status).toBe(409);
    expect(await requestReason()).toBe('approval_required');
  });

  test('cannot approve the evaluation if the page showed another sender, time or document', async () => {
    const approver = await portalClient(server, tenantId, 'approver');
    const [row] = await sql(`SELECT recorded_by, recorded_at, document FROM countersign.evaluations WHERE id = $1`, [evaluation]);
    const changes = { recorded_by: 'key:trusted00000', recorded_at: '2026-01-01T00:00:00Z', document: '{"notes":"all read"}' };
    for (const [column, value] of Object.entries(changes)) {
      const seen = await digestShownDuring(approver, setColumn(column, value), setColumn(column, row![column]));
      const body = { rationale: 'read it', seen };
      expect([column, (await approver.callRoute('approvals.approve', { params: { evaluation }, body })).status]).toEqual([
        column,
        409,
      ]);
    }
  });
});

test.each([
  ['agents.set_risk', { risk_level: 'low' }],
  ['agents.set_archived', { archived: true }],
] as const)('%s is rejected if the page showed the name of another agent, and nothing is recorded', async (route, body) => {
  const admin = await portalClient(server, tenantId, 'admin');
  const [other] = await createHighRiskAgent();
  const params = { agent: agentId };
  await swapNames(agent, other);
  const { name: seen_name } = await admin.getResult('agents.read', { params });
  await swapNames(agent, other);
  expect(seen_name).toBe(other);
  const before = await lastEntry();
  const refused = await admin.callRoute(route, { params, body: { ...body, seen_name } });
  expect([refused.status, refused.body.issues[0].message]).toEqual([
    409,
    expect.stringContaining(
      `the page showed the agent as ${JSON.stringify(other)}, but the evidence log has ${JSON.stringify(agent)}`,
    ),
  ]);
  expect(await lastEntry()).toEqual(before);
  expect((await admin.callRoute(route, { params, body: { ...body, seen_name: agent } })).body.changed).toBe(true);
});

test('the pages for approvers show completeness and severity threshold from the document, not from the changed columns', async () => {
  const sent = { name: 'nightly', agent_name: agent, pass_rate: 95, partial: true, severity_threshold: 3 };
  const { body } = await server.post(paths.detailedEvaluations, key, sent);
  await sql(`UPDATE countersign.evaluations SET completeness = 'complete', severity_threshold = 9 WHERE id = $1`, [body.id]);
  const approver = await portalClient(server, tenantId, 'approver');
  const read = await approver.getResult('evaluations.read', { params: { evaluation: body.id } });
  expect([read.completeness, read.details.completeness, read.severity_threshold]).toEqual(['partial', 'partial', 3]);
  const approval = await approver.getResult('approvals.read', { params: { evaluation: body.id } });
  expect(approval.details.completeness).toBe('partial');
});

describe('after the names of two agents were swapped in their table, the ledger names the agent as the evidence log does', () => {
  test('in the entry of a violation', async () => {
    const [other] = await createHighRiskAgent();
    await swapNames(agent, other);
    const violation = { agent, policy: 'p', severity: 'high', description: 'd', traceId: null } as const;
    await recordViolation(server.open.pool, tenantId, violation, 'operator');
    expect(await lastEntry()).toEqual({ action: 'policy.violation', subject: agent, agent_id: agentId });
  });

  test('in the entry of an archived agent', async () => {
    const [other] = await createHighRiskAgent();
    await swapNames(agent, other);
    await archiveAgent(server.open.pool, tenantId, { agentId, archived: true, rationale: undefined }, 'operator');
    expect(await lastEntry()).toEqual({ action: 'agent.archived', subject: agent, agent_id: agentId });
  });
});
