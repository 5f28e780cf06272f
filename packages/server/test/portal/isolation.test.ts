import { randomUUID } from 'node:crypto';
import type { PortalRoute } from '@countersign/core/portal/route';
import { PAGE_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordStatements, type SentStatement } from '../fixtures/recorded-statements.ts';
import { decisionOn, type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let owner: PortalClient;
/** The ID of a workspace without records. */
let emptyWorkspace: string;
let serverClient: pg.Client;
let sentStatements: SentStatement[];
/** For each path parameter, the value of a record in the owner's workspace. */
const params: Record<string, string> = { seq: '1', number: '1', ordinal: '0', log: 'audit' };

beforeAll(async () => {
  server = await testServer();
  sentStatements = recordStatements(server.open.readPool);
  const workspace = await server.workspace();
  emptyWorkspace = await server.workspace();
  const key = await server.key(workspace);
  owner = await portalClient(server, workspace, 'admin');
  serverClient = new pg.Client(server.database.server);
  await serverClient.connect();

  const named = { agent_name: 'owned' };
  const spans = [{ span_id: 's', kind: 'llm', name: 'n', model: 'm' }];
  params.trace = (
    await server.post(paths.traces, key, { trace_id: 'owned-run', session_id: 'ours', outcome: 'failure', ...named, spans })
  ).body.id;
  for (const [kind, document] of [
    ['content', '{"name":"gen_ai.user.message","attributes":{},"body":{"content":"owned"}}'],
    ['finding', '{"name":"owned","score":1,"label":null,"explanation":null}'],
  ]) {
    await server.database.sql(
      `INSERT INTO countersign.log_records (tenant_id, trace_id, span_id, sha256, kind, place, received_at, recorded_by, document, joined)
       VALUES ($1, 'owned-run', 's', sha256(convert_to($2::text, 'UTF8')), $2::text, 0, clock_timestamp(), 'key:000000000000', $3, true)`,
      [workspace, kind, document],
    );
  }
  await server.post(paths.telemetry, key, { trace_id: 'owned-run', outcome: 'odd', ...named, model: 'm' });
  await server.post(paths.evaluations, key, { name: 'first', ...named, pass_rate: 80 });
  params.agent = (await owner.getResult('agents.list')).items[0]!.id;
  await owner.getResult('agents.set_risk', { params: { agent: params.agent }, body: { risk_level: 'high' } });
  const first = (await owner.getResult('evaluations.list')).items[0]!.id;
  await owner.getResult('approvals.approve', { params: { evaluation: first }, body: await decisionOn(owner, first) });
  await server.post(paths.promotionCheck, key, named);
  await server.post(paths.traces, key, { trace_id: 'owned-run-2', ...named, spans });
  params.evaluation = (
    await server.post(paths.evaluations, key, { name: 'second', harness_id: randomUUID(), ...named, pass_rate: 90 })
  ).body.id;
  params.decision = (await server.post(paths.promotionCheck, key, named)).body.decision_id;
  params.submission = (await owner.getResult('runs.list', { query: { source: 'telemetry' } })).items[0]!.id;
  const body = { agent_id: params.agent, severity: 'low', description: 'd', recertify: true };
  params.incident = (await owner.getResult('incidents.open', { body })).id;
  await owner.getResult('violations.record', {
    body: { agent_id: params.agent, policy: 'p', severity: 'low', description: 'd' },
  });
  params.prefix = (await owner.getResult('keys.list')).items[0]!.prefix;
  params.key = (await owner.getResult('signing.read')).decision_keys[0]!.key_id;
});
afterAll(() => serverClient.end());

const routes = Object.entries(PAGE_ROUTES) as [RouteName, PortalRoute][];
/** The required query members of routes, with valid values. */
const requiredQuery: Partial<Record<RouteName, Record<string, string>>> = {
  'runs.span': { span_id: 's' },
  'logs.consistency': { first: '1' },
};

/** The statement without its tenant filter: every `tenant_id = $1`, with any table alias, is replaced by a true condition. */
const withoutTenantFilter = ({ text }: SentStatement): string =>
  text.replace(/(\b\w+\.)?\btenant_id = \$1/g, '$1::uuid IS NOT NULL'.replaceAll('$', '$$$$'));

describe("row-level security of the portal's queries", () => {
  /** The statements that the owner's pages send: one for each statement name. */
  async function collectStatements(): Promise<SentStatement[]> {
    sentStatements.length = 0;
    for (const [name, { method, query }] of routes.filter(
      ([, route]) => route.method === 'GET' && route.response !== undefined,
    )) {
      await owner.callRoute(name, { params, query: requiredQuery[name] ?? {} });
      if (query?.properties.status !== undefined)
        for (const status of ['pending', 'approved']) await owner.callRoute(name, { params, query: { status } });
      if (query?.properties.text !== undefined) await owner.callRoute(name, { params, query: { text: 'owned' } });
      if (query?.properties.from !== undefined && method === 'GET')
        for (const end of ['to', 'from']) await owner.callRoute(name, { params, query: { [end]: '2999-01-01T00:00:00Z' } });
      if (query?.properties.allowed !== undefined) await owner.callRoute(name, { params, query: { allowed: 'false' } });
      if (query?.properties.recertification !== undefined)
        await owner.callRoute(name, { params, query: { recertification: 'open' } });
    }
    // The first statement of each name has the fewest filters.
    return [...new Map(sentStatements.toReversed().map((statement) => [statement.name, statement])).values()];
  }

  /** Runs a statement in a transaction of the empty workspace with the server's role. */
  async function runInEmptyWorkspace(text: string, values: unknown[]): Promise<unknown[]> {
    await serverClient.query(`BEGIN READ ONLY; SET LOCAL countersign.tenant_id = '${emptyWorkspace}'`);
    try {
      return (await serverClient.query(text, values)).rows;
    } finally {
      await serverClient.query('ROLLBACK');
    }
  }

  test('queries read nothing of another workspace, even without their tenant filter', async () => {
    const all = await collectStatements();
    expect(all.length).toBeGreaterThan(35);
    for (const statement of all) {
      const { name, values } = statement;
      const text = withoutTenantFilter(statement);
      expect([name, /tenant_id = \$1/.test(statement.text), /tenant_id = \$1/.test(text)]).toEqual([name, true, false]);
      const rowsOfEmptyWorkspace = await runInEmptyWorkspace(statement.text, [emptyWorkspace, ...values.slice(1)]);
      expect({ name, rows: await runInEmptyWorkspace(text, values) }).toEqual({ name, rows: rowsOfEmptyWorkspace });
    }
  });

  test('without row-level security, queries without their tenant filter read rows, so the test above detects a missing policy', async () => {
    const ineffective: string[] = [];
    for (const statement of await collectStatements()) {
      const rowsOfEmptyWorkspace = await runInEmptyWorkspace(statement.text, [emptyWorkspace, ...statement.values.slice(1)]);
      const rows = await server.database.sql(withoutTenantFilter(statement), statement.values);
      if (JSON.stringify(rows) === JSON.stringify(rowsOfEmptyWorkspace)) ineffective.push(statement.name);
    }
    expect(ineffective).toEqual([]);
  });

  test('ingestion keys can be read while no workspace is set, for the lookup of keys, but not by another workspace', async () => {
    const countKeys = 'SELECT count(*)::int AS n FROM countersign.ingestion_keys';
    const { rows } = await serverClient.query<{ n: number }>(countKeys);
    expect(rows[0]!.n).toBeGreaterThan(0);
    expect(await runInEmptyWorkspace(countKeys, [])).toEqual([{ n: 0 }]);
  });
});
