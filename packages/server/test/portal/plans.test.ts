import type { PortalRoute } from '@countersign/core/portal/route';
import { PAGE_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AGENT_ID_QUERY, insertManyRecords } from '../fixtures/many-records.ts';
import { recordStatements, type SentStatement } from '../fixtures/recorded-statements.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

const FIRST_WORKSPACE_ROWS = {
  agents: 300,
  traces: 60_000,
  telemetry: 40_000,
  evaluations: 20_000,
  decisions: 40_000,
  entries: 40_000,
  approvals: 5000,
  incidents: 5000,
};

/** The numbers of rows in the second workspace: smaller for the large tables. */
const SECOND_WORKSPACE_ROWS = {
  ...FIRST_WORKSPACE_ROWS,
  traces: 5000,
  telemetry: 5000,
  evaluations: 5000,
  decisions: 5000,
  entries: 5000,
};

/**
 * The limit of rows that one statement may touch, including rows that a filter removes. It is below the size of the large tables, which
 * have 20,000 rows or more. It is enough for the rows of a page with their lookups, and to fill a page if one row in 200 matches.
 */
const ROWS_TOUCHED_MAX = 12_000;
/** The limit of rows that one step of a plan may sort. It is enough for a page of each list when one page is merged from several lists. */
const ROWS_SORTED_MAX = 1000;

let server: TestServer;
let workspace: string;
let admin: PortalClient;
let sentStatements: SentStatement[];
let serverClient: pg.Client;
const values: Record<string, string[]> = {};

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  await insertManyRecords(server.database.sql, workspace, FIRST_WORKSPACE_ROWS);
  // A statement that uses an index without the tenant as its first column also reads the rows of this second workspace.
  await insertManyRecords(server.database.sql, await server.workspace(), SECOND_WORKSPACE_ROWS);
  sentStatements = recordStatements(server.open.readPool);
  admin = await portalClient(server, workspace, 'admin');
  serverClient = new pg.Client(server.database.server);
  await serverClient.connect();
  const agents = await Promise.all([1, 8, 250].map((n) => server.database.sql<{ id: string }>(AGENT_ID_QUERY, [workspace, n])));
  const [harness] = await server.database.sql<{ id: string }>(`SELECT md5('harness0')::uuid AS id`);
  const days = [29, 15, 1].map((ago) => new Date(Date.now() - ago * 86_400_000).toISOString());
  Object.assign(values, {
    agent_id: agents.map(([row]) => row!.id),
    harness_id: [harness!.id],
    evaluation_id: [(await admin.getResult('evaluations.list', { query: { limit: '1' } })).items[0]!.id],
    key_id: [(await server.database.sql<{ id: string }>('SELECT gen_random_uuid() AS id'))[0]!.id],
    from: days,
    to: days,
    outcome: ['success', 'failure', 'blocked', 'nonsense'],
    session_id: ['session-7', 'nonsense'],
    text: ['run-', 'UN-77', 'n-7', 'run-1', 'vent-5', '-12345', 'agent-00001', 'agent-0025', 'nonsense'],
    actor: ['ci-1', 'nonsense'],
    action: ['build.3', 'policy.violation', 'nonsense'],
    trace_id: ['run-77', 'nonsense'],
    search: ['agent', '0025', 'nonsense'],
  });
});
afterAll(() => serverClient.end());

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The work of a statement, run as the server runs it: with row-level security and a plan for its values. */
async function workOf({
  text,
  values: parameters,
}: SentStatement): Promise<{ rowsTouched: number; rowsSorted: number; scannedTables: string[] }> {
  await serverClient.query(`BEGIN READ ONLY; SET LOCAL countersign.tenant_id = '${workspace}'`);
  const { rows } = await serverClient.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, parameters);
  await serverClient.query('COMMIT');
  const nodes = nodesOf((rows[0] as { 'QUERY PLAN': { Plan: Plan }[] })['QUERY PLAN'][0]!.Plan);
  const rowsOf = (node: Plan) =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'];
  const sumOfRows = (plans: Plan[]) => Math.round(plans.reduce((sum, node) => sum + rowsOf(node), 0));
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined);
  // run_id_segments has one row for about 500 runs.
  const smallTables = ['agents', 'ingestion_keys', 'key_last_use', 'key_events', 'log_heads', 'run_id_segments'];
  return {
    rowsTouched: sumOfRows(scans),
    rowsSorted: Math.max(
      0,
      ...nodes.filter((node) => node['Node Type'] === 'Sort').flatMap((node) => (node.Plans ?? []).map(rowsOf)),
    ),
    scannedTables: scans
      // PostgreSQL 15 also shows scans that it does not run.
      .filter(
        (node) => node['Node Type'] === 'Seq Scan' && node['Actual Loops'] > 0 && !smallTables.includes(node['Relation Name']!),
      )
      .map((node) => node['Relation Name']!),
  };
}

/** Every list, without a filter and with each of its filters. */
const lists = (Object.entries(PAGE_ROUTES) as [RouteName, PortalRoute][])
  .filter(([, { query }]) => query?.properties.limit !== undefined)
  .flatMap(([name, { query }]) => {
    const filters = Object.keys(query!.properties).filter((member) => member !== 'cursor' && member !== 'limit');
    return [undefined, ...filters].map((filter) => ({ name, filter, label: filter ?? 'none' }));
  });

const valuesOf = (name: RouteName, filter: string): string[] => {
  const member = (PAGE_ROUTES as Record<string, PortalRoute>)[name]!.query!.properties[filter] as { enum?: string[] };
  return member.enum ?? values[filter]!;
};

describe('a page of a list', () => {
  test('the tests cover all ten lists of the portal', () => {
    expect(new Set(lists.map(({ name }) => name)).size).toBe(10);
  });

  test.each(lists)('$name (filter: $label) scans no large table, and touches and sorts few rows', async ({ name, filter }) => {
    for (const value of filter === undefined ? [''] : valuesOf(name, filter)) {
      sentStatements.length = 0;
      const query: Record<string, string> = filter === undefined ? {} : { [filter]: value };
      const { next } = (await admin.callRoute(name, { query })).body;
      if (next) await admin.callRoute(name, { query: { ...query, cursor: next } });
      expect(sentStatements.length).toBeGreaterThan(0);
      for (const statement of sentStatements) {
        const work = await workOf(statement);
        const about = { filter, value, statement: statement.name };
        expect({ ...about, scannedTables: work.scannedTables }).toEqual({ ...about, scannedTables: [] });
        expect({ ...about, sortsTooMuch: work.rowsSorted > ROWS_SORTED_MAX ? work.rowsSorted : 0 }).toEqual({
          ...about,
          sortsTooMuch: 0,
        });
        expect({ ...about, touchesTooMuch: work.rowsTouched > ROWS_TOUCHED_MAX ? work.rowsTouched : 0 }).toEqual({
          ...about,
          touchesTooMuch: 0,
        });
      }
    }
  });
});
