import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
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
const idOf = async (agent: string): Promise<string> =>
  (await admin.getResult('agents.list', { query: { search: agent } })).items.find(({ name }) => name === agent)!.id;
const open = async (agent_id: string, more: object = {}): Promise<string> =>
  (
    await admin.getResult('incidents.open', {
      body: { agent_id, severity: 'high', description: 'it lied', recertify: true, ...more },
    })
  ).id;
/** The digest that the page of an incident gives for closing its re-certification; zeros if the page gives none. */
const digestForClosing = async (incident: string): Promise<string> =>
  (await approver.getResult('incidents.read', { params: { incident } })).closing?.seen ?? '0'.repeat(64);
const close = (agent: string, seen = '0'.repeat(64)) =>
  approver.callRoute('recertifications.close', { params: { agent }, body: { rationale: 'trained anew', seen } });

describe('an incident', () => {
  test('blocks the gate until a later passing evaluation exists and a person closes the re-certification', async () => {
    await evaluate('liar');
    const agent = await idOf('liar');
    const incident = await open(agent);
    expect((await check('liar')).reason).toBe('recertification_open');
    const params = { incident };
    const before = await approver.getResult('incidents.read', { params });
    expect(before).toMatchObject({
      agent: { name: 'liar' },
      severity: 'high',
      description: 'it lied',
      opened_by: `user:${admin.id}`,
      recertification: 'open',
    });
    expect(before.closing).toMatchObject({
      possible: false,
      incident_ids: [incident],
      obstacle: expect.stringContaining('recorded before the incident'),
    });
    const refusal = await close(agent);
    expect([refusal.status, refusal.body.issues[0].message]).toEqual([409, before.closing!.obstacle]);
    await evaluate('liar', { status: 'failing' });
    expect((await approver.getResult('incidents.read', { params })).closing).toMatchObject({
      possible: false,
      evaluation: { status: 'failing' },
    });
    expect((await close(agent)).status).toBe(409);
    await evaluate('liar', { pass_rate: undefined });
    expect((await approver.getResult('incidents.read', { params })).closing).toMatchObject({
      possible: false,
      obstacle: expect.stringContaining('has no pass rate'),
    });
    expect((await close(agent)).status).toBe(409);
    const passing = await evaluate('liar');
    expect((await approver.getResult('incidents.read', { params })).closing).toMatchObject({
      possible: true,
      obstacle: null,
      evaluation: { id: passing },
    });
    expect((await close(agent, await digestForClosing(incident))).body).toEqual({
      incident_ids: [incident],
      evaluation_id: passing,
    });
    expect(await approver.getResult('incidents.read', { params })).toMatchObject({
      recertification: 'closed',
      closed_by: `user:${approver.id}`,
      closing_rationale: 'trained anew',
      closing_evaluation_id: passing,
      closing: null,
    });
    expect((await check('liar')).allowed).toBe(true);
    expect((await close(agent)).status).toBe(409);
    const { items } = await approver.getResult('ledger.list', { query: { agent_id: agent } });
    expect(items.map(({ action, actor }) => [action, actor])).toEqual([
      ['recertification.closed', `user:${approver.id}`],
      ['promotion.blocked', 'promotion-gate'],
      ['incident.created', `user:${admin.id}`],
    ]);
  });

  test('has a re-certification that can be closed only if the page showed the latest evaluation', async () => {
    await evaluate('raced');
    const agent = await idOf('raced');
    const incident = await open(agent);
    await evaluate('raced', { name: 'full safety suite', pass_rate: 100 });
    const seen = await digestForClosing(incident);
    const unseen = await evaluate('raced', { name: 'smoke', pass_rate: 0 });
    const { status, body } = await close(agent, seen);
    expect([status, body.issues[0].message]).toEqual([
      409,
      expect.stringMatching(
        new RegExp(`^the page did not show the latest evaluation .*${unseen}.*"smoke".*pass rate 0 %.*Reload the page`),
      ),
    ]);
    expect((await approver.getResult('incidents.read', { params: { incident } })).recertification).toBe('open');
    expect((await close(agent, await digestForClosing(incident))).body).toEqual({
      incident_ids: [incident],
      evaluation_id: unseen,
    });
  });

  test('for an unknown agent gets a 404, and so does closing the re-certifications of an unknown agent', async () => {
    const body = { agent_id: randomUUID(), severity: 'low', description: 'x', recertify: false };
    expect((await admin.callRoute('incidents.open', { body })).status).toBe(404);
    expect((await close(randomUUID())).status).toBe(404);
  });

  test('is listed newest first over all pages, and filtered by agent, severity and open re-certification', async () => {
    await evaluate('often');
    const agent_id = await idOf('often');
    const ids: string[] = [];
    for (const [severity, recertify] of [
      ['low', true],
      ['critical', false],
      ['low', false],
      ['critical', true],
      ['low', true],
    ] as const)
      ids.push(await open(agent_id, { severity, recertify }));
    const list = async (query: Record<string, string>) => {
      const listed: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Awaited<ReturnType<typeof admin.getResult<'incidents.list'>>> = await admin.getResult('incidents.list', {
          query: { agent_id, limit: '2', ...query, ...(cursor === '' ? {} : { cursor }) },
        });
        listed.push(...page.items.map(({ id }) => id));
        cursor = page.next;
      }
      return listed.map((id) => ids.indexOf(id));
    };
    expect(await list({})).toEqual([4, 3, 2, 1, 0]);
    expect(await list({ severity: 'low' })).toEqual([4, 2, 0]);
    expect(await list({ recertification: 'open' })).toEqual([4, 3, 0]);
    expect(await list({ recertification: 'open', severity: 'low' })).toEqual([4, 0]);
  });
});

describe('a policy violation', () => {
  test('recorded by an admin is in the ledger with policy, severity and run, and affects no decision', async () => {
    await evaluate('sly');
    const agent_id = await idOf('sly');
    const details = { policy: 'no-refunds', severity: 'medium', description: 'refunded twice', trace_id: 'run-7' };
    const { id } = await admin.getResult('violations.record', { body: { agent_id, ...details } });
    const { items } = await approver.getResult('violations.list', { query: { agent_id } });
    expect(items).toMatchObject([{ id, agent: { id: agent_id, name: 'sly' }, recorded_by: `user:${admin.id}`, ...details }]);
    const [entry] = (await approver.getResult('ledger.list', { query: { trace_id: 'run-7' } })).items;
    expect(entry).toMatchObject({ action: 'policy.violation', subject: 'sly', rationale: 'refunded twice', seq: items[0]!.seq });
    expect((await check('sly')).allowed).toBe(true);
  });

  test('written to the ledger by another system is listed with null for missing and invalid values', async () => {
    await server.post(paths.audit, key, { actor: 'guard', action: 'policy.violation', metadata: { severity: 'odd', policy: 7 } });
    const [first] = (await approver.getResult('violations.list')).items;
    expect(first).toMatchObject({
      agent: null,
      policy: null,
      severity: null,
      description: null,
      recorded_by: `key:${key.slice(8, 20)}`,
    });
  });
});
