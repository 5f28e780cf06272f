import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { decisionOn, type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let key: string;
let approver: PortalClient;
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  const workspace = await server.workspace();
  key = await server.key(workspace);
  [approver, admin] = await Promise.all([portalClient(server, workspace, 'approver'), portalClient(server, workspace, 'admin')]);
});

const evaluate = async (agent: string, body: object = {}): Promise<string> =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95, ...body })).body.id;
const check = async (agent: string) => (await server.post(paths.promotionCheck, key, { agent_name: agent })).body;

/** Creates a high-risk agent with one evaluation. */
async function createHighRiskAgent(agent: string, body: object = {}): Promise<{ evaluation: string }> {
  const evaluation = await evaluate(agent, body);
  const { items } = await admin.getResult('agents.list', { query: { search: agent } });
  await admin.getResult('agents.set_risk', { params: { agent: items[0]!.id }, body: { risk_level: 'high' } });
  return { evaluation };
}

const approve = async (evaluation: string) =>
  approver.callRoute('approvals.approve', {
    params: { evaluation },
    body: await decisionOn(approver, evaluation, 'looked at it'),
  });

describe('the page of an approval', () => {
  test('shows the changes since the last approved evaluation, the runs, and the possible actions', async () => {
    const [before, after] = [randomUUID(), randomUUID()];
    const run = (trace_id: string, model: string) =>
      server.post(paths.traces, key, {
        trace_id,
        agent_name: 'changed',
        spans: [{ span_id: 's', kind: 'llm', name: 'n', model }],
      });
    await run('changed-1', 'old-model');
    const { evaluation: first } = await createHighRiskAgent('changed', { harness_id: before, pass_rate: 90.1 });
    expect(await approver.getResult('approvals.read', { params: { evaluation: first } })).toMatchObject({
      approval: null,
      last_approved: null,
      changes: [],
      is_latest: true,
      may: { approve: true, reject: true, withdraw: false },
      standing: { promotable: false, reason: 'approval_required' },
    });
    await approve(first);
    await run('changed-2', 'new-model');
    const second = await evaluate('changed', { harness_id: after, pass_rate: 88, notes: 'look at this' });
    await check('changed');
    const detail = await approver.getResult('approvals.read', { params: { evaluation: second } });
    expect(detail).toMatchObject({
      risk_level: 'high',
      notes: 'look at this',
      evaluation: { id: second, approval: 'pending', recorded_by: `key:${key.slice(8, 20)}` },
      last_approved: { evaluation: { id: first }, approval: { status: 'approved' }, runs: { totals: { runs: 1 } } },
      runs: { totals: { runs: 1 }, models: [{ model: 'new-model' }] },
    });
    expect(detail.changes).toEqual([
      { what: 'pass_rate', before: '90.1', now: '88', difference: -2.1 },
      { what: 'harness_id', before, now: after, difference: null },
      { what: 'models', before: 'old-model', now: 'new-model', difference: null },
    ]);
  });

  test('says that not all models were read if the runs exceed the limit of the search', async () => {
    const send = async (count: number, model: string) => {
      const events = Array.from({ length: count }, () => ({
        trace_id: randomUUID(),
        outcome: 'success',
        agent_name: 'many runs',
        model,
      }));
      expect((await server.post(paths.telemetry, key, { events })).status).toBe(200);
    };
    await send(200, 'approved');
    const { evaluation: first } = await createHighRiskAgent('many runs');
    await approve(first);
    await send(3, 'unapproved');
    for (const count of [100, 100]) await send(count, 'approved');
    const second = await evaluate('many runs');
    const detail = await approver.getResult('approvals.read', { params: { evaluation: second } });
    expect(detail).toMatchObject({
      changes: [],
      runs: { totals: { runs: 203 }, models: [{ model: 'approved' }], models_complete: false },
      last_approved: { runs: { totals: { runs: 200 }, models: [{ model: 'approved' }], models_complete: true } },
    });
  });

  test.each([
    [50, true],
    [51, false],
  ])('says whether all models of a run with %i submissions were read: %s', async (submissions, models_complete) => {
    const agent_name = `${submissions} submissions`;
    for (let step = 0; step < submissions; step += 1) {
      const spans = [{ span_id: `s${step}`, kind: 'llm', name: 'n', model: 'some-model' }];
      await server.post(paths.traces, key, { trace_id: agent_name, agent_name, spans });
    }
    const evaluation = await evaluate(agent_name);
    expect((await approver.getResult('evaluations.read', { params: { evaluation } })).runs).toMatchObject({
      models: [{ model: 'some-model', steps: 50 }],
      models_complete,
    });
  });

  test('shows changes of the artifact, the suite, the completeness, the cases, the failures and the severity', async () => {
    const digest = (character: string) => `sha256:${character.repeat(64)}`;
    const report = async (body: object): Promise<string> =>
      (await server.post(paths.detailedEvaluations, key, { name: 'nightly', agent_name: 'compared', pass_rate: 95, ...body }))
        .body.id;
    const first = await report({
      artifact: digest('a'),
      suite: { name: 'full', version: '1' },
      cases: { total: 100 },
      completeness: 'complete',
    });
    const { items } = await admin.getResult('agents.list', { query: { search: 'compared' } });
    await admin.getResult('agents.set_risk', { params: { agent: items[0]!.id }, body: { risk_level: 'high' } });
    await approve(first);
    const second = await report({
      artifact: digest('b'),
      suite: { name: 'smoke', version: null },
      cases: { total: 20 },
      completeness: 'partial',
      blocking_failures: ['leaks data', 'insults'],
      max_severity: 9,
    });
    expect((await approver.getResult('approvals.read', { params: { evaluation: second } })).changes).toEqual([
      { what: 'artifact', before: digest('a'), now: digest('b'), difference: null },
      { what: 'suite', before: 'full', now: 'smoke', difference: null },
      { what: 'suite_version', before: '1', now: null, difference: null },
      { what: 'completeness', before: 'complete', now: 'partial', difference: null },
      { what: 'cases', before: '100', now: '20', difference: -80 },
      { what: 'blocking_failures', before: null, now: 'insults, leaks data', difference: null },
      { what: 'max_severity', before: null, now: '9', difference: null },
    ]);
  });

  test('shows a change from version 2 of the suite safety to the suite safety 2, and changed outcomes of cases', async () => {
    const report = async (body: object): Promise<string> =>
      (await server.post(paths.detailedEvaluations, key, { name: 'nightly', agent_name: 'joined', ...body })).body.id;
    const first = await report({
      suite: { name: 'safety', version: '2' },
      cases: { total: 100, passed: 100 },
      blocking_failures: ['a', 'b'],
    });
    const { items } = await admin.getResult('agents.list', { query: { search: 'joined' } });
    await admin.getResult('agents.set_risk', { params: { agent: items[0]!.id }, body: { risk_level: 'high' } });
    await approve(first);
    const second = await report({
      suite: { name: 'safety 2' },
      cases: { total: 100, passed: 1, skipped: 99 },
      skipped_excluded: true,
      blocking_failures: ['a, b'],
    });
    expect((await approver.getResult('approvals.read', { params: { evaluation: second } })).changes).toEqual([
      { what: 'suite', before: 'safety', now: 'safety 2', difference: null },
      { what: 'suite_version', before: '2', now: null, difference: null },
      { what: 'case_outcomes', before: '100 passed', now: '1 passed, 99 skipped (not counted)', difference: null },
      { what: 'blocking_failures', before: 'a, b', now: '"a, b"', difference: null },
    ]);
  });

  test('shows the differences of small and large numbers, rounded to six decimals', async () => {
    const { evaluation: first } = await createHighRiskAgent('measured', { severity_threshold: 1 });
    await approve(first);
    const second = await evaluate('measured', { severity_threshold: 1e305, pass_rate: 95.0000012 });
    const { changes } = await approver.getResult('approvals.read', { params: { evaluation: second } });
    expect(changes.map(({ what, difference }) => [what, difference])).toEqual([
      ['pass_rate', 0.000001],
      ['severity_threshold', 1e305],
    ]);
  });
});
