import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;
let admin: PortalClient;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  [viewer, admin] = await Promise.all([portalClient(server, workspace, 'viewer'), portalClient(server, workspace, 'admin')]);
});

const evaluate = async (agent: string, body: object = {}): Promise<string> =>
  (await server.post(paths.evaluations, key, { name: 'nightly', agent_name: agent, pass_rate: 95, ...body })).body.id;
const check = async (agent: string, body: object = {}) =>
  (await server.post(paths.promotionCheck, key, { agent_name: agent, ...body })).body;
const idOf = async (agent: string): Promise<string> => {
  const { items } = await viewer.getResult('agents.list', { query: { search: agent } });
  return items.find(({ name }) => name === agent)!.id;
};
const countLedgerRows = async () =>
  (await server.database.sql<{ n: number }>('SELECT count(*)::int AS n FROM countersign.audit_entries'))[0]!.n;

describe('the list of agents', () => {
  test('reports for each agent the verdict and the reason that a promotion check gives at that time', async () => {
    await evaluate('fit');
    await evaluate('weak', { pass_rate: 12 });
    await server.post(paths.traces, key, { trace_id: 'seen', agent_name: 'never-evaluated' });
    const { items } = await viewer.getResult('agents.list');
    const agentNamed = (name: string) => items.find((agent) => agent.name === name)!;
    expect(agentNamed('fit')).toMatchObject({
      risk_level: 'low',
      open_recertifications: 0,
      latest_evaluation: { name: 'nightly', pass_rate: 95, approval: null },
      standing: { promotable: true, reason: 'all_conditions_met' },
    });
    expect(agentNamed('weak').standing).toMatchObject({ promotable: false, reason: 'pass_rate_below_threshold' });
    expect(agentNamed('never-evaluated')).toMatchObject({
      latest_evaluation: null,
      standing: { reason: 'no_recent_evaluation' },
    });
    for (const name of ['fit', 'weak', 'never-evaluated']) {
      const decision = await check(name);
      expect([name, agentNamed(name).standing.promotable, agentNamed(name).standing.reason]).toEqual([
        name,
        decision.allowed,
        decision.reason,
      ]);
      expect(agentNamed(name).last_seen_at).not.toBeNull();
    }
  });

  test('can be searched by part of the name in any letter case and by risk level; % and _ match literally', async () => {
    for (const name of ['Search-Me', 'search-you', '100%_sure']) await evaluate(name);
    const names = async (query: Record<string, string>) =>
      (await viewer.getResult('agents.list', { query })).items.map(({ name }) => name);
    expect(await names({ search: 'SEARCH' })).toEqual(['Search-Me', 'search-you']);
    expect(await names({ search: '%_' })).toEqual(['100%_sure']);
    expect(await names({ search: 'search', risk_level: 'high' })).toEqual([]);
    await admin.getResult('agents.set_risk', { params: { agent: await idOf('search-you') }, body: { risk_level: 'high' } });
    expect(await names({ search: 'search', risk_level: 'high' })).toEqual(['search-you']);
  });

  test('reports for each agent up to three similar agents, without the agent itself and without archived agents', async () => {
    // Two of these names contain a Cyrillic letter: an а in the third, an о in the last.
    const similarNames = ['pay-bot', 'Pay-Bot', 'pаy-bot', 'PAY-BOT', 'pay-bоt'];
    for (const name of similarNames) await evaluate(name);
    const namesSimilarTo = async (name: string) => {
      const { similar_to } = await viewer.getResult('agents.read', { params: { agent: await idOf(name) } });
      return similar_to.map((agent) => agent.name);
    };
    expect(await namesSimilarTo('pay-bot')).toEqual(['Pay-Bot', 'pаy-bot', 'PAY-BOT']);
    expect(await namesSimilarTo('pay-bоt')).toEqual(['pay-bot', 'Pay-Bot', 'pаy-bot']);
    await admin.getResult('agents.set_archived', { params: { agent: await idOf('Pay-Bot') }, body: { archived: true } });
    expect(await namesSimilarTo('pay-bot')).toEqual(['pаy-bot', 'PAY-BOT', 'pay-bоt']);
    const { items } = await viewer.getResult('agents.list', { query: { search: 'pay-b' } });
    expect(items.find(({ name }) => name === 'PAY-BOT')!.similar_to.map(({ name }) => name)).toEqual([
      'pay-bot',
      'pаy-bot',
      'pay-bоt',
    ]);
    await evaluate('unlike any other');
    expect(await namesSimilarTo('unlike any other')).toEqual([]);
  });

  test('returns each agent once over all pages', async () => {
    for (const name of ['p-1', 'p-2', 'p-3', 'p-4', 'p-5']) await evaluate(name);
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: Record<string, string> = { search: 'p-', limit: '2', ...(cursor === '' ? {} : { cursor }) };
      const { items, next } = await viewer.getResult('agents.list', { query });
      listed.push(...items.map(({ name }) => name));
      cursor = next;
    }
    expect(listed).toEqual(['p-1', 'p-2', 'p-3', 'p-4', 'p-5']);
  });

  test('continues on the next page after a name of the maximum length', async () => {
    const names = ['a', 'b', 'c'].map((end) => '𝓪'.repeat(511) + end);
    for (const name of names) await evaluate(name);
    const first = await viewer.getResult('agents.list', { query: { search: '𝓪', limit: '1' } });
    const { items } = await viewer.getResult('agents.list', { query: { search: '𝓪', cursor: first.next! } });
    expect([...first.items, ...items].map(({ name }) => name)).toEqual(names);
  });
});

describe('one agent', () => {
  test('is returned with its harnesses and the numbers of its evaluations, incidents and pending approvals', async () => {
    const harness = randomUUID();
    await evaluate('counted', { harness_id: harness });
    await evaluate('counted');
    const agent = await idOf('counted');
    await admin.getResult('incidents.open', {
      body: { agent_id: agent, severity: 'low', description: 'a scratch', recertify: false },
    });
    expect(await viewer.getResult('agents.read', { params: { agent } })).toMatchObject({
      name: 'counted',
      evaluations: 2,
      incidents: 1,
      approvals_pending: 0,
      harnesses: [harness],
    });
  });

  test('lists its pass rates oldest first, including missing rates, and reports whether there are more', async () => {
    const ids = [await evaluate('rated', { pass_rate: 70 }), await evaluate('rated', { status: 'running', pass_rate: null })];
    ids.push(await evaluate('rated', { pass_rate: 99.5 }));
    const agent = await idOf('rated');
    const all = await viewer.getResult('agents.pass_rates', { params: { agent } });
    expect(all.points.map(({ evaluation_id }) => evaluation_id)).toEqual(ids);
    expect(all).toMatchObject({
      threshold: 80,
      more: false,
      points: [{ pass_rate: 70 }, { pass_rate: null }, { pass_rate: 99.5 }],
    });
    const last = await viewer.getResult('agents.pass_rates', { params: { agent }, query: { points: '2' } });
    expect([last.points.map(({ evaluation_id }) => evaluation_id), last.more]).toEqual([ids.slice(1), true]);
  });
});

describe('the preview of a promotion check', () => {
  test('gives the verdict of a check with the same parameters and records nothing', async () => {
    const harness = randomUUID();
    await evaluate('asked', { pass_rate: 85, harness_id: harness });
    await evaluate('asked', { pass_rate: 40 });
    const agent = await idOf('asked');
    const before = [await countLedgerRows(), await server.database.sql('SELECT count(*) FROM countersign.decisions')];
    const requirements = [
      {},
      { min_pass_rate: 40 },
      { min_pass_rate: 30, max_age_hours: 1 },
      { harness_id: harness },
      { harness_id: harness, min_pass_rate: 85.5 },
      { harness_id: randomUUID() },
    ];
    const previews = [];
    for (const requirement of requirements) {
      const query = Object.fromEntries(Object.entries(requirement).map(([name, value]) => [name, String(value)]));
      previews.push(await viewer.getResult('agents.promotion_preview', { params: { agent }, query }));
    }
    expect([await countLedgerRows(), await server.database.sql('SELECT count(*) FROM countersign.decisions')]).toEqual(before);
    for (const [index, requirement] of requirements.entries()) {
      const decision = await check('asked', requirement);
      const { promotable, reason, event, checks, required_threshold, actual_threshold, evaluation, policy } = previews[index]!;
      const id = evaluation?.id ?? null;
      expect({ promotable, reason, event, required_threshold, actual_threshold, id, policy }).toEqual({
        promotable: decision.allowed,
        reason: decision.reason,
        event: decision.event,
        required_threshold: decision.required_threshold,
        actual_threshold: decision.actual_threshold,
        id: decision.evaluation_id,
        policy: decision.policy,
      });
      expect(checks.map(({ condition, passed }) => [condition, passed])).toEqual(
        decision.checks.map(({ condition, passed }: { condition: string; passed: boolean }) => [condition, passed]),
      );
    }
  });
});

describe('the risk level', () => {
  test('is set by an admin and recorded in the ledger with the rationale; setting it again writes nothing', async () => {
    await evaluate('grave');
    const agent = await idOf('grave');
    const set = (body: object) => admin.getResult('agents.set_risk', { params: { agent }, body });
    expect(await set({ risk_level: 'high', rationale: 'moves money' })).toEqual({ risk_level: 'high', changed: true });
    const rows = await countLedgerRows();
    expect(await set({ risk_level: 'high' })).toEqual({ risk_level: 'high', changed: false });
    expect(await countLedgerRows()).toBe(rows);
    const { items } = await viewer.getResult('ledger.list', { query: { action: 'agent.high_risk', agent_id: agent } });
    const by = `user:${admin.id}`;
    expect(items).toMatchObject([
      { actor: by, recorded_by: by, subject: 'grave', rationale: 'moves money', agent: { id: agent } },
    ]);
    expect((await check('grave')).reason).toBe('approval_required');
  });
});

describe('archiving an agent', () => {
  test('hides the agent in list and overview, does not affect the gate and can be undone; both acts are in the ledger', async () => {
    await evaluate('example-agent');
    const agent = await idOf('example-agent');
    const set = (body: object) => admin.getResult('agents.set_archived', { params: { agent }, body });
    const names = async (query: Record<string, string> = {}) =>
      (await viewer.getResult('agents.list', { query: { search: 'example-agent', ...query } })).items.map(({ name }) => name);
    const total = (await viewer.getResult('overview.read')).agents_total;
    expect(await set({ archived: true, rationale: 'only an example' })).toEqual({ archived: true, changed: true });
    expect(await set({ archived: true })).toEqual({ archived: true, changed: false });
    expect(await names()).toEqual([]);
    expect([await names({ archived: 'only' }), await names({ archived: 'included' })]).toEqual([
      ['example-agent'],
      ['example-agent'],
    ]);
    const overview = await viewer.getResult('overview.read');
    expect(overview.agents_total).toBe(total - 1);
    expect(overview.agents.map(({ name }) => name)).not.toContain('example-agent');
    expect((await viewer.getResult('agents.read', { params: { agent } })).archived_at).not.toBeNull();
    expect((await check('example-agent')).reason).toBe('all_conditions_met');

    expect(await set({ archived: false })).toEqual({ archived: false, changed: true });
    expect(await names()).toEqual(['example-agent']);
    const { items } = await viewer.getResult('ledger.list', { query: { agent_id: agent } });
    expect(items.map(({ action }) => action)).toEqual(['agent.restored', 'agent.archived']);
    expect(items[1]).toMatchObject({ actor: `user:${admin.id}`, subject: 'example-agent', rationale: 'only an example' });
  });
});
