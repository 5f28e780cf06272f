import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { PortalRoute } from '@countersign/core/portal/route';
import { PAGE_ROUTES } from '@countersign/core/portal/routes';
import { inTenantTransaction } from '../packages/server/src/database/transaction.ts';
import { newSession } from '../packages/server/src/people/sessions.ts';
import { insertMembership } from '../packages/server/src/storage/memberships.ts';
import { newId } from '../packages/server/src/storage/new-id.ts';
import { insertPerson } from '../packages/server/src/storage/people.ts';
import { insertSession } from '../packages/server/src/storage/sessions.ts';
import { createWorkspace } from '../packages/server/src/workspace/create-workspace.ts';
import { AGENT_ID_QUERY, insertManyRecords, type RowCounts } from '../packages/server/test/fixtures/many-records.ts';
import { reseal } from '../packages/server/test/harness/sealed.ts';
import { type BenchEnvironment, createEnvironment } from './environment.ts';

/**
 * Measures the response times of the portal's lists with 100,000 stored runs: each list without a filter and with each of its filters.
 * It uses HTTP with a session and row-level security, one request at a time. For each filter it prints the times of the slowest value,
 * over the first and the second page. It also measures the overview and the steps of a long trace. `--runs 1000000` sets another number of
 * runs. `--only runs.list` measures only this list.
 */
const { runs, only } = parseArgs({ options: { runs: { type: 'string', default: '100000' }, only: { type: 'string' } } }).values;
const ROW_COUNTS: RowCounts = {
  agents: 1000,
  traces: Math.round(Number(runs) * 0.6),
  telemetry: Math.round(Number(runs) * 0.4),
  evaluations: 20_000,
  decisions: 100_000,
  entries: 100_000,
  approvals: 10_000,
  incidents: 10_000,
};
const ROUNDS = 15;
const LIMIT_MS = 100;

/** One line of the table: the median and the maximum for the slowest value of the filter. */
interface Row {
  list: string;
  filter: string;
  value: string;
  p50Ms: number;
  maxMs: number;
}

/** The values to measure for each filter without an enum. For some filters they include a common, a rare and an absent value. */
async function filterValues({ superuser }: BenchEnvironment, workspace: string): Promise<Record<string, string[]>> {
  const agents = [];
  for (const number of [1, 8, 900]) agents.push(await superuser.query<{ id: string }>(AGENT_ID_QUERY, [workspace, number]));
  const findId = async (text: string) => (await superuser.query<{ id: string }>(text, [workspace])).rows[0]!.id;
  const days = [29, 15, 1].map((daysAgo) => new Date(Date.now() - daysAgo * 86_400_000).toISOString());
  return {
    agent_id: agents.map(({ rows }) => rows[0]!.id),
    harness_id: [
      await findId(
        `SELECT harness_id AS id FROM countersign.evaluations WHERE tenant_id = $1 AND harness_id IS NOT NULL LIMIT 1`,
      ),
    ],
    evaluation_id: [await findId('SELECT id FROM countersign.evaluations WHERE tenant_id = $1 LIMIT 1')],
    key_id: [newId()],
    from: days,
    to: days,
    outcome: ['success', 'failure', 'blocked', 'nonsense'],
    session_id: ['session-7', 'nonsense'],
    text: ['run-', 'UN-77', 'un-1', '-5', '7654', '59999', 'vent-39999', 'agent-00001', 'agent-009', 'nonsense'],
    actor: ['ci-1', 'nonsense'],
    action: ['build.3', 'policy.violation', 'nonsense'],
    trace_id: ['run-77', 'nonsense'],
    search: ['agent', '0099', 'nonsense'],
  };
}

/** Creates an admin of a workspace, and a session of this admin. Returns the session cookie. */
async function signIn({ database: { pool } }: BenchEnvironment, workspace: string): Promise<string> {
  const id = newId();
  const person = { id, email: `${id}@example.com`, name: 'bench', password: null };
  const { token, row } = newSession(person.id, null);
  await inTenantTransaction(pool, workspace, async (tx) => {
    await insertPerson(tx, person);
    await insertSession(tx, row);
    await insertMembership(tx, person.id, 'admin');
  });
  return `countersign=${token}`;
}

interface Page {
  next?: string | null;
}

/** Sends one request and measures the time until the response is complete. Throws if the status is not 200. */
async function fetchPage(url: string, cookie: string): Promise<{ ms: number; page: Page }> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: { cookie, 'sec-fetch-site': 'same-origin' } });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}: ${text.slice(0, 300)}`);
  return { ms, page: JSON.parse(text) as Page };
}

/** Measures a URL. If the list has a second page, the median and the maximum are over both pages. */
async function measure(url: URL, cookie: string): Promise<{ p50Ms: number; maxMs: number }> {
  const { page } = await fetchPage(url.href, cookie);
  const urls = [url.href];
  if (page.next) {
    const secondPage = new URL(url);
    secondPage.searchParams.set('cursor', page.next);
    urls.push(secondPage.href);
  }
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) for (const each of urls) times.push((await fetchPage(each, cookie)).ms);
  times.sort((left, right) => left - right);
  return { p50Ms: times[times.length >> 1]!, maxMs: times.at(-1)! };
}

/** Sends a trace of 500 steps with a message of 900 characters in each. Returns the ID of the trace. */
async function sendLongTrace({ port }: BenchEnvironment, key: string): Promise<string> {
  const messages = [{ role: 'user', content: 'x'.repeat(900) }];
  const spans = Array.from({ length: 500 }, (_, n) => ({
    span_id: `s${n}`,
    parent_span_id: n === 0 ? null : `s${n >> 1}`,
    kind: 'llm',
    name: 'step',
    messages,
  }));
  const response = await fetch(`http://127.0.0.1:${port}/api/public/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ trace_id: 'long', agent_name: 'long', spans }),
  });
  return ((await response.json()) as { id: string }).id;
}

async function run(environment: BenchEnvironment): Promise<Row[]> {
  process.stderr.write('filling ...\n');
  const workspace = await createWorkspace(environment.database.pool, 'portal');
  await insertManyRecords((text, values) => environment.superuser.query(text, values), workspace, ROW_COUNTS);
  await reseal(environment.database.pool, workspace);
  const cookie = await signIn(environment, workspace);
  const values = await filterValues(environment, workspace);
  const urlOf = (path: string) => new URL(path.replace(':workspace', workspace), `http://127.0.0.1:${environment.port}`);
  const rows: Row[] = [];
  const addSlowest = async (list: string, filter: string, urls: [string, URL][]) => {
    const measured = [];
    for (const [value, url] of urls) measured.push({ list, filter, value, ...(await measure(url, cookie)) });
    rows.push(measured.reduce((slowest, each) => (each.p50Ms > slowest.p50Ms ? each : slowest)));
  };
  for (const [name, route] of Object.entries(PAGE_ROUTES) as [string, PortalRoute][]) {
    if (route.query?.properties.limit === undefined || (only !== undefined && only !== name)) continue;
    await addSlowest(name, '', [['', urlOf(route.path)]]);
    const filters = Object.entries(route.query.properties as Record<string, { enum?: string[] }>);
    for (const [filter, { enum: enumValues }] of filters.filter(([member]) => member !== 'cursor' && member !== 'limit')) {
      const urls = (enumValues ?? values[filter]!).map((value): [string, URL] => {
        const url = urlOf(route.path);
        url.searchParams.set(filter, value);
        return [value, url];
      });
      await addSlowest(name, filter, urls);
    }
  }
  if (only !== undefined) return rows;
  for (const name of ['overview.read', 'overview.usage'] as const)
    await addSlowest(name, '', [['', urlOf(PAGE_ROUTES[name].path)]]);
  const traceId = await sendLongTrace(environment, environment.key);
  const cookieForTrace = await signIn(environment, environment.tenantId);
  const spansUrl = new URL(
    PAGE_ROUTES['runs.spans'].path.replace(':workspace', environment.tenantId).replace(':trace', traceId),
    urlOf('/'),
  );
  rows.push({ list: 'runs.spans', filter: '', value: '500 steps', ...(await measure(spansUrl, cookieForTrace)) });
  return rows;
}

const environment = await createEnvironment();
try {
  const rows = await run(environment);
  const lines = rows.map(
    ({ list, filter, value, p50Ms, maxMs }) =>
      `| ${list} | ${filter} | ${value} | ${p50Ms.toFixed(1)} | ${maxMs.toFixed(1)} |${p50Ms > LIMIT_MS ? ' missed' : ''}`,
  );
  process.stdout.write(
    ['| list | filter | slowest value | p50 ms | max ms |', '| --- | --- | --- | --- | --- |', ...lines, ''].join('\n'),
  );
  const folder = fileURLToPath(new URL('output/', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}portal-lists.json`, JSON.stringify({ rowCounts: ROW_COUNTS, rounds: ROUNDS, rows }, null, 2));
} finally {
  await environment.end();
}
