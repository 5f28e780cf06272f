import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { closeRecertifications } from '../../src/workspace/close-recertifications.ts';
import { decideEvaluation } from '../../src/workspace/decide-evaluation.ts';
import { openIncident } from '../../src/workspace/open-incident.ts';
import { withdrawApproval } from '../../src/workspace/withdraw-approval.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let tenantId = '';
let key = '';
let viewer: PortalClient;
let evaluation = '';

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  for (const table of ['approvals', 'incidents', 'recertifications', 'audit_entries'])
    await server.database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
});
beforeEach(async () => {
  tenantId = await server.workspace();
  key = await server.key(tenantId);
  viewer = await portalClient(server, tenantId, 'viewer');
  evaluation = await evaluate();
  await setRiskLevel(server.open.pool, tenantId, { agent: 'bot', level: 'high' }, 'operator');
});

const evaluate = async (agent = 'bot'): Promise<string> =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95 })).body.id;
const decide = (status: 'approved' | 'rejected') =>
  decideEvaluation(server.open.pool, tenantId, { evaluationId: evaluation, status, rationale: `is ${status}` }, 'operator');
const sql = (statement: string) => server.database.sql(statement.replaceAll('$T', `tenant_id = '${tenantId}'`));
const readApproval = () => viewer.getResult('approvals.read', { params: { evaluation } });

describe('the page of an approval', () => {
  test('has no warning before and after each act', async () => {
    expect((await readApproval()).altered).toBeNull();
    await decide('approved');
    expect((await readApproval()).altered).toBeNull();
    await withdrawApproval(server.open.pool, tenantId, { evaluationId: evaluation, rationale: 'in doubt' }, 'operator');
    expect((await readApproval()).altered).toBeNull();
    await decide('approved');
    await decide('rejected');
    expect((await readApproval()).altered).toBeNull();
    expect((await readApproval()).approval).toMatchObject({ status: 'rejected', rationale: 'is rejected' });
  });

  test.each([
    [`decided_by = 'user:00000000-0000-7000-8000-000000000001'`, 'the approver is "user:00000000-0000-7000-8000-000000000001"'],
    [`rationale = 'all runs read'`, 'the rationale is "all runs read", but entry 2 of the audit ledger says "is approved"'],
    [`decided_at = '2026-01-01T00:00:00Z'`, 'the time of the decision is "2026-01-01T00:00:00.000Z"'],
    [`status = 'rejected'`, 'the status is "rejected", but entry 2 of the audit ledger says "approved"'],
  ])('has a warning after an attacker set %s', async (change, fault) => {
    await decide('approved');
    await sql(`UPDATE countersign.approvals SET ${change} WHERE $T`);
    expect((await readApproval()).altered).toContain(fault);
  });

  test('has a warning if the ledger has no entry for the approval, or the entry was changed together with the row', async () => {
    await decide('approved');
    await sql(`UPDATE countersign.audit_entries SET action = 'x' WHERE $T AND action = 'approval.approved'`);
    expect((await readApproval()).altered).toBe('the audit ledger has no entry for the stored state');
    await sql(`UPDATE countersign.audit_entries SET action = 'approval.approved' WHERE $T AND action = 'x'`);
    await sql(`UPDATE countersign.approvals SET rationale = 'all read' WHERE $T`);
    await sql(`UPDATE countersign.audit_entries SET document = replace(document, 'is approved', 'all read') WHERE $T`);
    expect((await readApproval()).altered).toContain('entry 2 was added or changed outside the server');
  });

  test('has a separate warning about the approval of the last approved evaluation', async () => {
    await decide('approved');
    evaluation = await evaluate();
    expect((await readApproval()).last_approved!.altered).toBeNull();
    await sql(`UPDATE countersign.approvals SET rationale = 'all runs read' WHERE $T`);
    const { altered, last_approved } = await readApproval();
    expect([altered, last_approved!.altered]).toEqual([null, expect.stringContaining('the rationale is "all runs read"')]);
  });
});

describe('the page of an incident', () => {
  let incident = '';
  const readIncident = () => viewer.getResult('incidents.read', { params: { incident } });
  beforeEach(async () => {
    const newIncident = { agent: 'bot', severity: 'high', description: 'it lied', recertify: true } as const;
    incident = await openIncident(server.open.pool, tenantId, newIncident, 'operator');
  });
  const close = async () => {
    await evaluate();
    await closeRecertifications(server.open.pool, tenantId, { agent: 'bot', rationale: 'trained anew' }, 'operator');
  };

  test('has no warning before and after its re-certification is closed', async () => {
    expect((await readIncident()).altered).toBeNull();
    await close();
    expect(await readIncident()).toMatchObject({ altered: null, recertification: 'closed', closing_rationale: 'trained anew' });
  });

  test.each([
    ['incidents', `description = 'nothing'`, 'the description is "nothing"'],
    ['incidents', `severity = 'low'`, 'the severity is "low"'],
    ['incidents', `opened_by = 'user:x'`, 'the person who opened it is "user:x"'],
    ['recertifications', `closed_by = 'user:x'`, 'the person who closed it is "user:x"'],
    ['recertifications', `rationale = 'fine'`, 'the closing rationale is "fine"'],
    [
      'recertifications',
      'closed_at = NULL, closed_by = NULL, rationale = NULL, evaluation_id = NULL',
      'of the audit ledger closed the re-certification of this incident',
    ],
  ])('has a warning after an attacker changed the table %s: %s', async (table, change, fault) => {
    await close();
    await sql(`UPDATE countersign.${table} SET ${change} WHERE $T`);
    expect((await readIncident()).altered).toContain(fault);
  });

  test('has no warning if a person closed another re-certification with the ID of this incident as the rationale', async () => {
    const other = { agent: 'other-bot', severity: 'high', description: 'it lied too', recertify: true } as const;
    await evaluate(other.agent);
    await openIncident(server.open.pool, tenantId, other, 'operator');
    await evaluate(other.agent);
    await closeRecertifications(server.open.pool, tenantId, { agent: other.agent, rationale: incident }, 'operator');
    expect((await readIncident()).altered).toBeNull();
  });

  test('has a warning if its re-certification was deleted', async () => {
    await sql('DELETE FROM countersign.recertifications WHERE $T');
    expect((await readIncident()).altered).toContain('the need for a re-certification is false');
  });
});
