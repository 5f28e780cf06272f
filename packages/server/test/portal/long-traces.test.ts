import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { recordStatements, type SentStatement } from '../fixtures/recorded-statements.ts';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

const SUBMISSIONS = 80;
const SPANS = 150;
/** The maximum number of steps read for a page of 1,000. Statements read whole submissions, so they also read steps of other pages. */
const STEPS_READ_BY_PAGE_MAX = 4000;
/** The maximum number of steps read from one trace to list an agent's models: the steps of the latest 50 submissions of the trace. */
const STEPS_READ_BY_MODELS_MAX = 50 * SPANS;

let server: TestServer;
let workspace: string;
let key: string;
let viewer: PortalClient;
let sentStatements: SentStatement[];
let serverClient: pg.Client;
const lookups: (string | undefined)[] = [];

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  key = await server.key(workspace);
  viewer = await portalClient(server, workspace, 'viewer');
  sentStatements = recordStatements(server.open.readPool);
  serverClient = new pg.Client(server.database.server);
  await serverClient.connect();
});
afterAll(() => serverClient.end());

const span = (span_id: string, more: object = {}) => ({ span_id, kind: 'llm', name: `step ${span_id}`, model: 'm', ...more });

/** Sends submissions of a trace one after the other. */
async function send(traceId: string, submissions: number, spansOf: (number: number) => object[]): Promise<string> {
  let id = '';
  for (let number = 1; number <= submissions; number += 1) {
    const body = { trace_id: traceId, agent_name: 'clerk', spans: spansOf(number) };
    const { status, body: response } = await server.post(paths.traces, key, body);
    expect(status).toBe(200);
    id = response.id;
  }
  return id;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Cond'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** The number of steps read from submissions: each is a row of json_array_elements. */
const stepsIn = (plan: Plan): number =>
  (plan['Node Type'] === 'Function Scan'
    ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
    : 0) + (plan.Plans ?? []).reduce((sum, child) => sum + stepsIn(child), 0);

/** The index conditions of all lookups in the table `merged_spans`. */
const lookupsIn = (plan: Plan): (string | undefined)[] => [
  ...(plan['Relation Name'] === 'merged_spans' ? [plan['Index Cond']] : []),
  ...(plan.Plans ?? []).flatMap(lookupsIn),
];

/** The number of steps that the portal's statements read during `request`. */
async function stepsReadBy(request: () => Promise<unknown>): Promise<number> {
  sentStatements.length = 0;
  await request();
  let steps = 0;
  for (const { text, values } of sentStatements) {
    await serverClient.query(`BEGIN READ ONLY; SET LOCAL countersign.tenant_id = '${workspace}'`);
    const { rows } = await serverClient.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    await serverClient.query('COMMIT');
    const { Plan } = (rows[0] as { 'QUERY PLAN': { Plan: Plan }[] })['QUERY PLAN'][0]!;
    steps += stepsIn(Plan);
    lookups.push(...lookupsIn(Plan));
  }
  return steps;
}

/** All pages of a trace's steps. */
async function pagesOf(trace: string) {
  const pages: Awaited<ReturnType<typeof page>>[] = [];
  const page = (cursor: string | null) =>
    viewer.getResult('runs.spans', { params: { trace }, query: cursor === null ? {} : { cursor } });
  let cursor: string | null = null;
  do {
    const next = await page(cursor);
    pages.push(next);
    cursor = next.next;
  } while (cursor !== null);
  return pages;
}

test('the server reads only a part of a long trace for a page of steps, one step or the models of an agent', {
  timeout: 120_000,
}, async () => {
  const trace = await send('long', SUBMISSIONS, (number) => Array.from({ length: SPANS }, (_, n) => span(`${number}-${n}`)));
  const get = (cursor?: string) =>
    viewer.getResult('runs.spans', { params: { trace }, query: cursor === undefined ? {} : { cursor } });
  const first = await get();
  expect(first.items).toHaveLength(1000);
  const secondPage = await stepsReadBy(() => get(first.next!));
  const oneStep = await stepsReadBy(() => viewer.getResult('runs.span', { params: { trace }, query: { span_id: '40-7' } }));

  const { status, body } = await server.post(paths.evaluations, key, { agent_name: 'clerk', name: 'suite' });
  expect(status).toBe(200);
  const models = await stepsReadBy(() => viewer.getResult('evaluations.read', { params: { evaluation: body.id } }));
  const steps = { secondPage, oneStep, models };
  expect({
    ...steps,
    isWithinLimits:
      secondPage > 0 && secondPage <= STEPS_READ_BY_PAGE_MAX && oneStep <= SPANS && models <= STEPS_READ_BY_MODELS_MAX,
  }).toEqual({
    ...steps,
    isWithinLimits: true,
  });

  // An expression such as `fields ->> 0` is not leakproof. With row-level security, PostgreSQL 15.20 does not use it as an index condition.
  expect(lookups).toHaveLength(inject('cluster').citus === undefined ? 3 : 0);
  for (const condition of lookups) expect(condition).toMatch(/\(span_id = (?!.*->>)/);

  const pages = await pagesOf(trace);
  const all = pages.flatMap(({ items }) => items);
  expect(pages).toHaveLength((SUBMISSIONS * SPANS) / 1000);
  expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index));
  expect(new Set(all.map(({ span_id }) => span_id)).size).toBe(SUBMISSIONS * SPANS);
});

test('a trace with steps that were replaced many times shows each step once, as last sent', { timeout: 120_000 }, async () => {
  const submissions = 70;
  const trace = await send(randomUUID(), submissions, (number) => [
    ...Array.from({ length: 400 }, (_, n) =>
      span(`same-${n}`, { name: `a name of some length, as sent by submission ${number}` }),
    ),
    ...(number > 60 ? [span(`own-${number}`)] : []),
  ]);
  const pages = await pagesOf(trace);
  expect(pages[0]!.items).toEqual([]);
  const all = pages.flatMap(({ items }) => items);
  expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index));
  expect(all.map(({ span_id }) => span_id)).toEqual([
    ...Array.from({ length: 9 }, (_, index) => `own-${index + 61}`),
    ...Array.from({ length: 400 }, (_, index) => `same-${index}`),
    `own-${submissions}`,
  ]);
  const names = new Set(all.filter(({ span_id }) => span_id.startsWith('same-')).map(({ name }) => name));
  expect([...names]).toEqual([`a name of some length, as sent by submission ${submissions}`]);
  const { submission } = await viewer.getResult('runs.span', { params: { trace }, query: { span_id: 'same-3' } });
  expect(submission).toBe(submissions);
});
