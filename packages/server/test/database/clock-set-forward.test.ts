import { beforeAll, describe, expect, test } from 'vitest';
import { setRiskLevel } from '../../src/workspace/agent-risk.ts';
import { closeRecertifications } from '../../src/workspace/close-recertifications.ts';
import { decideEvaluation } from '../../src/workspace/decide-evaluation.ts';
import { openIncident } from '../../src/workspace/open-incident.ts';
import { withdrawApproval } from '../../src/workspace/withdraw-approval.ts';
import { setEvaluationTime } from '../harness/evaluation-time.ts';
import { portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const IN_TWENTY_YEARS = `clock_timestamp() + interval '20 years'`;

let server: TestServer;
let tenantId: string;
let key: string;
let agentCount = 0;

beforeAll(async () => {
  server = await testServer();
  tenantId = await server.workspace();
  key = await server.key(tenantId);
});

function newAgent(): string {
  agentCount += 1;
  return `bot-${agentCount}`;
}
const evaluate = async (agent: string, body: object = {}): Promise<string> =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95, status: 'passing', ...body }))
    .body.id;
const check = async (agent: string, more: object = {}) =>
  (await server.post(paths.promotionCheck, key, { agent_name: agent, ...more })).body;
const reportIncident = (agent: string) =>
  openIncident(server.open.pool, tenantId, { agent, severity: 'high', description: 'it lied', recertify: true }, 'operator');
const closeRecertification = (agent: string) =>
  closeRecertifications(server.open.pool, tenantId, { agent, rationale: 'trained' }, 'operator');
const approve = (evaluationId: string) =>
  decideEvaluation(server.open.pool, tenantId, { evaluationId, status: 'approved', rationale: 'looked at it' }, 'operator');
const setApprovalTime = (evaluationId: string, moment: string) =>
  server.database.sql(`UPDATE countersign.approvals SET decided_at = ${moment} WHERE evaluation_id = $1`, [evaluationId]);

describe('after a clock was temporarily 20 years ahead', () => {
  test('an evaluation with a time in the future blocks the agent; promotion checks use the next recorded evaluation', async () => {
    const agent = newAgent();
    const harness_id = '0b6f4d52-71c3-4e8b-9a2d-6c5e8f1a3b70';
    await evaluate(agent, { status: 'failing', harness_id });
    await setEvaluationTime(server, agent, IN_TWENTY_YEARS);
    expect(await check(agent)).toMatchObject({ allowed: false, reason: 'no_recent_evaluation' });
    const id = await evaluate(agent, { harness_id });
    expect(await check(agent)).toMatchObject({ allowed: true, evaluation_id: id });
    expect(await check(agent, { harness_id })).toMatchObject({ allowed: true, evaluation_id: id });
  });

  test('a re-certification cannot be closed with an evaluation that was recorded before the incident', async () => {
    const agent = newAgent();
    await evaluate(agent);
    await setEvaluationTime(server, agent, IN_TWENTY_YEARS);
    await reportIncident(agent);
    await expect(closeRecertification(agent)).rejects.toThrow(/was recorded before the incident was opened/);
    await evaluate(agent);
    await closeRecertification(agent);
    expect(await check(agent)).toMatchObject({ allowed: true });
  });

  test('a re-certification cannot be closed with an evaluation whose time is in the future', async () => {
    const agent = newAgent();
    await evaluate(agent);
    await reportIncident(agent);
    await evaluate(agent);
    await setEvaluationTime(server, agent, IN_TWENTY_YEARS);
    await expect(closeRecertification(agent)).rejects.toThrow(
      /time in the future.*record a passing evaluation with a pass rate now, then close the re-certification/,
    );
    expect(await check(agent)).toMatchObject({ allowed: false });
    await evaluate(agent);
    await closeRecertification(agent);
    expect(await check(agent)).toMatchObject({ allowed: true });
  });

  test('an approval that a decision used cannot be withdrawn', async () => {
    const agent = newAgent();
    const evaluationId = await evaluate(agent);
    await setRiskLevel(server.open.pool, tenantId, { agent, level: 'high' }, 'operator');
    await approve(evaluationId);
    expect(await check(agent)).toMatchObject({ allowed: true });
    await setApprovalTime(evaluationId, IN_TWENTY_YEARS);
    const withdrawn = withdrawApproval(server.open.pool, tenantId, { evaluationId, rationale: 'no' }, 'operator');
    await expect(withdrawn).rejects.toThrow(/was used by decision/);
  });

  test('the portal lists records in the reverse order of recording, whatever their times are', async () => {
    const workspace = await server.workspace();
    key = await server.key(workspace);
    [tenantId] = [workspace];
    const agent = newAgent();
    const first = await evaluate(agent);
    const firstIncident = await reportIncident(agent);
    await setEvaluationTime(server, agent, IN_TWENTY_YEARS);
    await server.database.sql('ALTER TABLE countersign.incidents DISABLE TRIGGER append_only');
    await server.database.sql(`UPDATE countersign.incidents SET opened_at = ${IN_TWENTY_YEARS} WHERE tenant_id = $1`, [
      workspace,
    ]);
    await server.database.sql(`UPDATE countersign.recertifications SET opened_at = ${IN_TWENTY_YEARS} WHERE tenant_id = $1`, [
      workspace,
    ]);
    await server.database.sql('ALTER TABLE countersign.incidents ENABLE ALWAYS TRIGGER append_only');
    await setRiskLevel(server.open.pool, workspace, { agent, level: 'high' }, 'operator');
    await approve(first);
    await setApprovalTime(first, IN_TWENTY_YEARS);
    const second = await evaluate(agent);
    await approve(second);
    const secondIncident = await reportIncident(agent);
    const viewer = await portalClient(server, workspace, 'viewer');
    const idsOf = async (list: 'evaluations.list' | 'incidents.list', query: Record<string, string> = {}) =>
      (await viewer.getResult(list, { query })).items.map(({ id }) => id);
    expect(await idsOf('evaluations.list')).toEqual([second, first]);
    expect(await idsOf('evaluations.list', { to: new Date(Date.now() + 1000).toISOString() })).toEqual([second]);
    expect(await idsOf('incidents.list')).toEqual([secondIncident, firstIncident]);
    expect(await idsOf('incidents.list', { recertification: 'open' })).toEqual([secondIncident, firstIncident]);
    const approved = await viewer.getResult('approvals.list', { query: { status: 'approved' } });
    expect(approved.items.map(({ evaluation }) => evaluation.id)).toEqual([second, first]);
    const { latest_of_agent, runs } = await viewer.getResult('evaluations.read', { params: { evaluation: second } });
    expect([latest_of_agent, runs?.from]).toEqual([second, null]);
  });
});
