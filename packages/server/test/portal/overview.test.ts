import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

/** Creates a workspace with a key and an admin. */
async function newWorkspace(): Promise<{ workspace: string; key: string; admin: PortalClient }> {
  const workspace = await server.workspace();
  return { workspace, key: await server.key(workspace), admin: await portalClient(server, workspace, 'admin') };
}

describe('the overview', () => {
  test('of an empty workspace contains only zeros, empty lists and the value false', async () => {
    const workspace = await server.workspace();
    const viewer = await portalClient(server, workspace, 'viewer');
    expect(await viewer.getResult('overview.read')).toEqual({
      agents_total: 0,
      differing_rows: [],
      agents: [],
      promotable: 0,
      blocked: 0,
      approvals_pending: 0,
      approvals: [],
      recertifications_open: 0,
      recertifications: [],
      decisions: [],
      has: { runs: false, evaluations: false, decisions: false, ledger: false, keys: false },
    });
    const { days } = await viewer.getResult('overview.usage');
    expect(days).toHaveLength(14);
    expect(days.at(-1)).toEqual({
      day: new Date().toISOString().slice(0, 10),
      runs: 0,
      failures: 0,
      unfinished: 0,
      errors: 0,
      total_tokens: 0,
      cost_usd: '0',
    });
  });

  test('lists agents with reasons (blocked agents first), pending approvals, open re-certifications and the latest decisions', async () => {
    const { key, admin } = await newWorkspace();
    const post = (path: string, body: object) => server.post(path, key, body);
    for (const agent_name of ['a-fit', 'b-grave', 'c-hurt'])
      await post(paths.evaluations, { name: 'n', agent_name, pass_rate: 99 });
    const { items } = await admin.getResult('agents.list');
    const [, grave, hurt] = items;
    await admin.getResult('agents.set_risk', { params: { agent: grave!.id }, body: { risk_level: 'high' } });
    await admin.getResult('incidents.open', {
      body: { agent_id: hurt!.id, severity: 'high', description: 'it lied', recertify: true },
    });
    for (const agent_name of ['a-fit', 'b-grave', 'c-hurt']) await post(paths.promotionCheck, { agent_name });
    const overview = await admin.getResult('overview.read');
    expect(overview.agents.map(({ name, standing }) => [name, standing.reason])).toEqual([
      ['b-grave', 'approval_required'],
      ['c-hurt', 'recertification_open'],
      ['a-fit', 'all_conditions_met'],
    ]);
    expect(overview).toMatchObject({
      agents_total: 3,
      promotable: 1,
      blocked: 2,
      approvals_pending: 1,
      approvals: [{ agent: { name: 'b-grave' }, status: 'pending', evaluation: { pass_rate: 99, approval: 'pending' } }],
      recertifications_open: 1,
      recertifications: [{ agent: { name: 'c-hurt' }, recertification: 'open', description: 'it lied' }],
      has: { runs: false, evaluations: true, decisions: true, ledger: true, keys: true },
    });
    expect(overview.decisions.map(({ agent, allowed }) => [agent?.name, allowed])).toEqual([
      ['c-hurt', false],
      ['b-grave', false],
      ['a-fit', true],
    ]);
  });

  test('sums traces and telemetry events by UTC day with exact costs', async () => {
    const { workspace, key, admin } = await newWorkspace();
    await server.post(paths.traces, key, { trace_id: 't-1', total_tokens: 10, cost_usd: 0.1, outcome: 'failure', error: 'e' });
    await server.post(paths.traces, key, { trace_id: 't-2', total_tokens: 5, cost_usd: 0.2 });
    await server.post(paths.telemetry, key, { trace_id: 't-3', outcome: 'success', total_tokens: 1, cost_usd: 0.7 });
    // This run was received the day before yesterday, and its ID contains the same time.
    const before = new Date(Date.now() - 2 * 86_400_000);
    const hex = before.getTime().toString(16).padStart(12, '0');
    await server.database.sql(
      `INSERT INTO countersign.telemetry_events (tenant_id, submission, ordinal, trace_id, outcome, total_tokens, has_error, received_at)
       VALUES ($1, $2, 0, 'old', 'lost', 3, false, $3)`,
      [workspace, `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`, before.toISOString()],
    );
    const { days } = await admin.getResult('overview.usage', { query: { days: '3' } });
    expect(
      days.map(({ runs, failures, errors, total_tokens, cost_usd }) => [runs, failures, errors, total_tokens, cost_usd]),
    ).toEqual([
      [1, 1, 0, 3, '0'],
      [0, 0, 0, 0, '0'],
      [3, 1, 1, 16, '1'],
    ]);
    expect(days[0]!.day).toBe(before.toISOString().slice(0, 10));
    expect((await admin.getResult('overview.usage', { query: { days: '1' } })).days).toHaveLength(1);
  });
});

describe('the workspace', () => {
  test('is renamed by an admin, and the ledger records both names; renaming it to the same name writes nothing', async () => {
    const { workspace, admin } = await newWorkspace();
    const { name: before } = await admin.getResult('workspace.read');
    expect(await admin.getResult('workspace.rename', { body: { name: 'Ærø & Søn' } })).toMatchObject({
      id: workspace,
      name: 'Ærø & Søn',
    });
    await admin.getResult('workspace.rename', { body: { name: 'Ærø & Søn' } });
    const { items } = await admin.getResult('ledger.list', { query: { action: 'workspace.renamed' } });
    expect(items).toHaveLength(1);
    const entry = await admin.getResult('ledger.read', { params: { seq: String(items[0]!.seq) } });
    expect(entry).toMatchObject({ actor: `user:${admin.id}`, metadata: { before, after: 'Ærø & Søn' } });
  });
});
