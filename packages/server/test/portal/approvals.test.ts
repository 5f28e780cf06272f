import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { decisionOn, type PortalClient, portalClient } from '../harness/portal-client.ts';
import { reseal } from '../harness/sealed.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;
let approver: PortalClient;
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  [approver, admin] = await Promise.all([portalClient(server, workspace, 'approver'), portalClient(server, workspace, 'admin')]);
});

const evaluate = async (agent: string, body: object = {}): Promise<string> =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95, ...body })).body.id;
const check = async (agent: string) => (await server.post(paths.promotionCheck, key, { agent_name: agent })).body;

/** Creates a high-risk agent with one evaluation. */
async function createHighRiskAgent(agent: string, body: object = {}): Promise<{ agent: string; evaluation: string }> {
  const evaluation = await evaluate(agent, body);
  const { items } = await admin.getResult('agents.list', { query: { search: agent } });
  await admin.getResult('agents.set_risk', { params: { agent: items[0]!.id }, body: { risk_level: 'high' } });
  return { agent: items[0]!.id, evaluation };
}

const act = async (
  name: 'approvals.approve' | 'approvals.reject' | 'approvals.withdraw',
  evaluation: string,
  rationale = 'looked at it',
) => approver.callRoute(name, { params: { evaluation }, body: await decisionOn(approver, evaluation, rationale) });
const actionsOf = async (agent: string) =>
  (await approver.getResult('ledger.list', { query: { agent_id: agent } })).items.map(({ action }) => action);

describe('the list of evaluations', () => {
  test('is sorted newest first, includes evaluations without an agent, and filters by agent, status, harness and time', async () => {
    const harness = randomUUID();
    await evaluate('listed', { harness_id: harness, category: 'safety' });
    await evaluate('listed', { status: 'failing' });
    await server.post(paths.evaluations, key, { name: 'of nobody', status: 'running' });
    const list = async (query: Record<string, string>) => (await approver.getResult('evaluations.list', { query })).items;
    const [withoutAgent, failing, passing] = await list({ limit: '3' });
    expect(withoutAgent).toMatchObject({ name: 'of nobody', agent: null, pass_rate: null });
    expect(passing).toMatchObject({
      agent: { name: 'listed' },
      harness_id: harness,
      category: 'safety',
      recorded_by: `key:${key.slice(8, 20)}`,
    });
    expect(await list({ status: 'failing', agent_id: failing!.agent!.id })).toEqual([failing]);
    expect(await list({ harness_id: harness })).toEqual([passing]);
    expect(await list({ harness_id: randomUUID() })).toEqual([]);
    expect(await list({ agent_id: failing!.agent!.id, to: passing!.recorded_at })).toEqual([]);
    expect((await list({ from: passing!.recorded_at })).slice(0, 3)).toEqual([withoutAgent, failing, passing]);
  });

  test('returns each evaluation once over all pages, even if several were recorded at the same time', async () => {
    await Promise.all(Array.from({ length: 7 }, () => evaluate('paged')));
    const agent_id = (await approver.getResult('agents.list', { query: { search: 'paged' } })).items[0]!.id;
    const allIds = (await approver.getResult('evaluations.list', { query: { agent_id } })).items.map(({ id }) => id);
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: Record<string, string> = { agent_id, limit: '2', ...(cursor === '' ? {} : { cursor }) };
      const { items, next } = await approver.getResult('evaluations.list', { query });
      listed.push(...items.map(({ id }) => id));
      cursor = next;
    }
    expect([listed, listed.length]).toEqual([allIds, 7]);
  });
});

describe('one evaluation', () => {
  test('is returned with its document, its notes, and the totals of the runs since the previous evaluation of its agent', async () => {
    await server.post(paths.traces, key, { trace_id: 'behind-0', agent_name: 'ran' });
    const first = await evaluate('ran', { notes: 'the first' });
    // The server estimates the time of a trace from an earlier reading of the clock. The estimate can be too early by the
    // time that this reading took to reach the server.
    await sleep(250);
    const spans = ['m-1', 'm-2', 'm-2'].map((model, index) => ({ span_id: `s${index}`, kind: 'llm', name: 'n', model }));
    await server.post(paths.traces, key, { trace_id: 'behind-1', agent_name: 'ran', outcome: 'failure', total_tokens: 9, spans });
    await server.post(paths.telemetry, key, {
      trace_id: 'behind-2',
      outcome: 'success',
      agent_name: 'ran',
      model: 'm-3',
      cost_usd: 0.3,
    });
    await server.post(paths.traces, key, { trace_id: 'behind-3', agent_name: 'other' });
    const second = await evaluate('ran', { severity_threshold: 0.5 });
    const before = await approver.getResult('evaluations.read', { params: { evaluation: first } });
    expect(before).toMatchObject({
      notes: 'the first',
      approval_record: null,
      latest_of_agent: second,
      runs: { from: null, totals: { runs: 1 } },
    });
    expect(JSON.parse(before.document)).toMatchObject({ notes: 'the first' });
    expect(await approver.getResult('evaluations.read', { params: { evaluation: second } })).toMatchObject({
      severity_threshold: 0.5,
      agent_risk_level: 'low',
      runs: {
        totals: { runs: 2, failures: 1, total_tokens: 9, cost_usd: '0.3' },
        models: [
          { model: 'm-2', steps: 2 },
          { model: 'm-1', steps: 1 },
          { model: 'm-3', steps: 1 },
        ],
      },
    });
    const withoutAgent = (await server.post(paths.evaluations, key, { name: 'of nobody' })).body.id;
    expect(await approver.getResult('evaluations.read', { params: { evaluation: withoutAgent } })).toMatchObject({
      agent: null,
      runs: null,
    });
    expect((await approver.callRoute('approvals.read', { params: { evaluation: withoutAgent } })).status).toBe(404);
  });
});

describe('an approval', () => {
  test('is requested by a check, waits in a queue sorted oldest first, and counts for one evaluation only', async () => {
    const { agent, evaluation } = await createHighRiskAgent('queued-1');
    const { evaluation: later } = await createHighRiskAgent('queued-2');
    expect((await check('queued-1')).reason).toBe('approval_required');
    await check('queued-2');
    const queue = (await approver.getResult('approvals.list')).items;
    expect(queue.map((each) => each.evaluation.id)).toEqual([evaluation, later]);
    expect(queue[0]).toMatchObject({
      status: 'pending',
      requested_by: `key:${key.slice(8, 20)}`,
      decided_at: null,
      used_by: null,
    });
    expect((await approver.getResult('approvals.list', { query: { limit: '1' } })).items).toEqual([queue[0]]);
    expect((await act('approvals.approve', evaluation, 'seen the runs')).body).toEqual({ status: 'approved' });
    const allowed = await check('queued-1');
    expect(allowed.allowed).toBe(true);
    expect(await approver.getResult('approvals.list', { query: { status: 'approved', agent_id: agent } })).toMatchObject({
      items: [
        { status: 'approved', decided_by: `user:${approver.id}`, rationale: 'seen the runs', used_by: allowed.decision_id },
      ],
      next: null,
    });
    await evaluate('queued-1');
    expect((await check('queued-1')).reason).toBe('approval_required');
    expect(await actionsOf(agent)).toEqual(['approval.required', 'approval.approved', 'approval.required', 'agent.high_risk']);
    const { items } = await approver.getResult('ledger.list', { query: { action: 'approval.approved', agent_id: agent } });
    expect(items).toMatchObject([
      { actor: `user:${approver.id}`, recorded_by: `user:${approver.id}`, rationale: 'seen the runs' },
    ]);
  });

  test('is listed for its agent in every state if the status filter is `all`, latest evaluation first', async () => {
    const { agent, evaluation: approved } = await createHighRiskAgent('every-state');
    await check('every-state');
    await act('approvals.approve', approved);
    const rejected = await evaluate('every-state');
    await act('approvals.reject', rejected);
    const pending = await evaluate('every-state');
    await check('every-state');
    const all = { status: 'all', agent_id: agent } as const;
    const { items } = await approver.getResult('approvals.list', { query: all });
    expect(items.map(({ evaluation, status }) => [evaluation.id, status])).toEqual([
      [pending, 'pending'],
      [rejected, 'rejected'],
      [approved, 'approved'],
    ]);
    const first = await approver.getResult('approvals.list', { query: { ...all, limit: '2' } });
    expect(first.items).toEqual(items.slice(0, 2));
    const secondPage = await approver.getResult('approvals.list', { query: { ...all, limit: '2', cursor: first.next! } });
    expect(secondPage).toEqual({ items: items.slice(2), next: null });
  });

  test('can be withdrawn until a decision uses it, and not afterwards; the ledger records the withdrawal', async () => {
    const { agent, evaluation } = await createHighRiskAgent('withdrawn');
    expect((await act('approvals.withdraw', evaluation)).status).toBe(409);
    await act('approvals.approve', evaluation);
    expect((await approver.getResult('approvals.read', { params: { evaluation } })).may).toEqual({
      approve: false,
      reject: true,
      withdraw: true,
    });
    expect((await act('approvals.withdraw', evaluation, 'too early')).body).toEqual({ status: 'pending' });
    expect((await check('withdrawn')).reason).toBe('approval_required');
    expect((await approver.getResult('approvals.list', { query: { agent_id: agent } })).items).toMatchObject([
      { status: 'pending', decided_by: null, rationale: null },
    ]);
    await act('approvals.approve', evaluation);
    const { decision_id, allowed } = await check('withdrawn');
    expect(allowed).toBe(true);
    const refusal = await act('approvals.withdraw', evaluation);
    expect([refusal.status, refusal.body.issues[0].message]).toEqual([
      409,
      expect.stringContaining(`was used by decision ${decision_id}`),
    ]);
    expect((await approver.getResult('approvals.read', { params: { evaluation } })).may.withdraw).toBe(false);
    expect(await actionsOf(agent)).toEqual([
      'approval.approved',
      'approval.required',
      'approval.withdrawn',
      'approval.approved',
      'agent.high_risk',
    ]);
  });

  test('can be withdrawn if the only allowed decision was made before the approval, because that decision did not use it', async () => {
    await evaluate('tightened');
    expect((await check('tightened')).allowed).toBe(true);
    const { items } = await admin.getResult('agents.list', { query: { search: 'tightened' } });
    await admin.getResult('agents.set_risk', { params: { agent: items[0]!.id }, body: { risk_level: 'high' } });
    const evaluation = items[0]!.latest_evaluation!.id;
    await act('approvals.approve', evaluation);
    expect((await act('approvals.withdraw', evaluation)).status).toBe(200);
  });

  test('is not used by a decision that allowed a promotion while the agent was low-risk', async () => {
    const { agent, evaluation } = await createHighRiskAgent('relaxed');
    const setRisk = (risk_level: 'low' | 'high') =>
      admin.getResult('agents.set_risk', { params: { agent }, body: { risk_level } });
    await act('approvals.approve', evaluation);
    await setRisk('low');
    expect((await check('relaxed')).allowed).toBe(true);
    await setRisk('high');
    const { approval, may } = await approver.getResult('approvals.read', { params: { evaluation } });
    expect([approval?.used_by, may.withdraw]).toEqual([null, true]);
    expect((await act('approvals.withdraw', evaluation)).status).toBe(200);
    expect((await check('relaxed')).reason).toBe('approval_required');
  });

  test('is either used or withdrawn, never both, when checks and a withdrawal run concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { evaluation } = await createHighRiskAgent(`raced-${round}`);
      await act('approvals.approve', evaluation);
      const [withdrawal, ...checks] = await Promise.all([
        act('approvals.withdraw', evaluation),
        ...Array.from({ length: 4 }, () => check(`raced-${round}`)),
      ]);
      const wasUsed = checks.some(({ allowed }) => allowed);
      expect([withdrawal.status, wasUsed]).toEqual(wasUsed ? [409, true] : [200, false]);
    }
  });

  test('can be revoked by a rejection, which is final and blocks promotion; for a low-risk agent an approval is refused', async () => {
    const { evaluation } = await createHighRiskAgent('rejected');
    await act('approvals.approve', evaluation);
    expect((await act('approvals.reject', evaluation, 'a second look')).body).toEqual({ status: 'rejected' });
    expect((await check('rejected')).reason).toBe('approval_rejected');
    for (const name of ['approvals.approve', 'approvals.reject', 'approvals.withdraw'] as const)
      expect([name, (await act(name, evaluation)).status]).toEqual([name, 409]);
    expect((await approver.getResult('approvals.read', { params: { evaluation } })).may).toEqual({
      approve: false,
      reject: false,
      withdraw: false,
    });
    expect((await act('approvals.approve', await evaluate('harmless'))).status).toBe(409);
    const unknown = { params: { evaluation: randomUUID() }, body: { rationale: 'r', seen: '0'.repeat(64) } };
    expect((await approver.callRoute('approvals.approve', unknown)).status).toBe(404);
  });

  test('counts as used by a decision even if the time of the approval is ahead of the clock', async () => {
    const { evaluation } = await createHighRiskAgent('ahead');
    const update = `UPDATE countersign.log_heads SET last_recorded_at = clock_timestamp() + interval '300 milliseconds' WHERE tenant_id = $1 AND log = 'audit'`;
    await server.database.sql(update, [workspace]);
    await reseal(server.open.pool, workspace);
    await act('approvals.approve', evaluation);
    expect((await check('ahead')).allowed).toBe(true);
    expect((await act('approvals.withdraw', evaluation)).status).toBe(409);
  });
});

test('an evaluation and its approval have the details that were sent; the list says whether the evaluation is partial', async () => {
  const detailed = {
    ...{ name: 'safety', agent_name: 'shown', evaluated_at: '2026-11-20T10:00:00+02:00', partial: true },
    ...{ cases: { total: 3, passed: 2, failed: 1 }, suite: { name: 'safety' }, run_url: 'https://ci.example.com/7' },
    ...{ trace_ids: ['run-1'], blocking_failures: ['refuses'], artifact: `gitCommit:${'a'.repeat(40)}` },
  };
  const { id } = (await server.post(paths.detailedEvaluations, key, detailed)).body;
  const { name: _, agent_name: __, partial: ___, ...sentMembers } = detailed;
  const details = { ...sentMembers, evaluated_at: '2026-11-20T08:00:00.000Z', completeness: 'partial', skipped_excluded: false };
  for (const route of ['evaluations.read', 'approvals.read'] as const)
    expect(await approver.getResult(route, { params: { evaluation: id } })).toMatchObject({ details });
  const { items } = await approver.getResult('evaluations.list', { query: { limit: '1' } });
  expect(items).toMatchObject([{ id, completeness: 'partial', suite: sentMembers.suite.name }]);
  const plain = await evaluate('plain one');
  expect(await approver.getResult('evaluations.read', { params: { evaluation: plain } })).toMatchObject({
    details: { evaluated_at: null, cases: null, run_url: null, trace_ids: [] },
  });
});
