import type { PortalRoute } from '@countersign/core/portal/route';
import { PAGE_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
/** The admin of a workspace with records, and the admin of another workspace with the same kinds of records. */
let admin: PortalClient;
let other: PortalClient;
/** For each parameter that names a record of one workspace: a record of the other workspace. */
let otherRecords: Record<string, string>;
/** A text that occurs only in responses about the other workspace. */
const MARK = 'of-the-other-workspace';

async function addRecords(client: PortalClient, mark: string): Promise<Record<string, string>> {
  const key = await server.key(client.workspace);
  const send = async (path: string, body: object) => (await server.post(path, key, body)).body;
  const agent_name = `agent-${mark}`;
  const trace = await send(paths.traces, {
    trace_id: `run-${mark}`,
    session_id: mark,
    agent_name,
    spans: [{ span_id: 's', kind: 'llm', name: mark }],
  });
  await send(paths.telemetry, { trace_id: `event-${mark}`, outcome: 'x', agent_name });
  const evaluation = await send(paths.evaluations, { name: mark, agent_name, status: 'passing', pass_rate: 95 });
  const decision = await send(paths.promotionCheck, { agent_name });
  const agent = (await client.get('agents.list')).items[0]!.id;
  const body = { agent_id: agent, severity: 'low', description: mark, recertify: true };
  return {
    agent,
    trace: trace.id,
    evaluation: evaluation.id,
    decision: decision.decision_id,
    submission: (await client.get('runs.list', { query: { source: 'telemetry' } })).items[0]!.id,
    incident: (await client.get('incidents.open', { body })).id,
    prefix: (await client.get('keys.list')).items[0]!.prefix,
    key: (await client.get('signing.read')).decision_keys[0]!.key_id,
  };
}

beforeAll(async () => {
  server = await testServer();
  const [own, another] = [await server.workspace(), await server.workspace(MARK)];
  admin = await portalClient(server, own, 'admin');
  other = await portalClient(server, another, 'admin');
  await addRecords(admin, 'own');
  otherRecords = await addRecords(other, MARK);
});

const routes = Object.entries(PAGE_ROUTES) as [RouteName, PortalRoute][];
const named = (path: string) => [...path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter!);
/** Values of parameters that exist in every workspace. */
const ANYWHERE = { seq: '1', number: '1', ordinal: '0', log: 'audit' };
const BODIES: Partial<Record<RouteName, object>> = {
  'agents.set_risk': { risk_level: 'high' },
  'agents.set_archived': { archived: true },
  'approvals.approve': { rationale: 'r' },
  'approvals.reject': { rationale: 'r' },
  'approvals.withdraw': { rationale: 'r' },
  'recertifications.close': { rationale: 'r' },
  'keys.change_scopes': { scopes: ['audit'] },
};
const QUERIES: Partial<Record<RouteName, Record<string, string>>> = { 'runs.span': { span_id: 's' } };

/** The heads of all logs of all workspaces. */
const record = () => server.database.sql('SELECT tenant_id, log, seq FROM countersign.log_heads ORDER BY tenant_id, log');

describe("a record of another workspace, addressed through one's own workspace", () => {
  const about = routes.filter(([, { path }]) => named(path).some((name) => name !== 'workspace' && !(name in ANYWHERE)));

  test.each(about)('%s: answers 404 and changes nothing', async (name, { body }) => {
    const before = await record();
    const given = {
      params: { ...ANYWHERE, ...otherRecords },
      query: QUERIES[name] ?? {},
      ...(body ? { body: BODIES[name] } : {}),
    };
    const answer = await admin.callRoute(name, given);
    expect([answer.status, answer.body]).toEqual([404, { error: 'not_found', issues: [] }]);
    expect(await record()).toEqual(before);
  });

  test.each(['incidents.open', 'violations.record'] as const)('%s: answers 404 to the id in a body', async (name) => {
    const body = { agent_id: otherRecords.agent, severity: 'low', description: 'd', policy: 'p', recertify: true };
    const { policy, recertify, ...both } = body;
    const answer = await admin.callRoute(name, {
      body: name === 'incidents.open' ? { ...both, recertify } : { ...both, policy },
    });
    expect(answer.status).toBe(404);
  });

  const lists = routes.filter(([, { method, query }]) => method === 'GET' && query?.properties.cursor !== undefined);
  test.each(lists)(
    '%s: contains nothing of another workspace, with its ids as filters or its cursor',
    async (name, { query }) => {
      const members = Object.keys(query!.properties);
      const filters = {
        agent_id: otherRecords.agent!,
        evaluation_id: otherRecords.evaluation!,
        text: `run-${MARK}`,
        session_id: MARK,
        search: MARK,
      };
      const params = { trace: otherRecords.trace! };
      const answers = [await admin.callRoute(name, { params })];
      for (const [member, value] of Object.entries(filters))
        if (members.includes(member)) answers.push(await admin.callRoute(name, { params, query: { [member]: value } }));
      const { next } = (await other.callRoute(name, { params, ...(members.includes('limit') ? { query: { limit: '1' } } : {}) }))
        .body;
      if (next != null) answers.push(await admin.callRoute(name, { params, query: { cursor: next } }));
      for (const { status, body } of answers) {
        expect([200, 404]).toContain(status);
        for (const secret of [MARK, ...Object.values(otherRecords)]) expect(JSON.stringify(body)).not.toContain(secret);
      }
    },
  );
});

test('answers 404 to every route of another workspace', async () => {
  for (const [name] of routes) expect([name, (await admin.browser.call(...whole(name))).status]).toEqual([name, 404]);
});

/** A request for a route of the other workspace with valid parameters. */
function whole(name: RouteName): [method: string, path: string, body: unknown] {
  const { method, path, body } = PAGE_ROUTES[name as keyof typeof PAGE_ROUTES] as PortalRoute;
  const values: Record<string, string> = { ...ANYWHERE, ...otherRecords, workspace: other.workspace };
  return [method, path.replace('/api/portal', '').replace(/:(\w+)/g, (_, parameter: string) => values[parameter]!), body && {}];
}
