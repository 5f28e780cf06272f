import { randomBytes, randomUUID } from 'node:crypto';
import { operations } from '@countersign/core/contract/operations';
import { SPANS_MAX } from '@countersign/core/contract/trace';
import { beforeAll, describe, expect, test } from 'vitest';
import { EVERY_ROUTE, type ServedRoute } from '../fixtures/every-route.ts';
import { exampleOf } from '../fixtures/example-values.ts';
import { SHARED_PARAMETERS, storeOneOfEach } from '../fixtures/one-of-each.ts';
import { createPerson } from '../harness/portal-browser.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';
import { jsonExport } from '../otlp/test-exports.ts';

/** MARK and SECRET are texts in the records of the other workspace. Requests contain MARK but never SECRET. */
const MARK = `other-${randomBytes(6).toString('hex')}`;
const SECRET = `secret-${randomBytes(6).toString('hex')}`;
/** Replaces MARK in values that must name no record. */
const ABSENT_MARK = `nobody-${randomBytes(6).toString('hex')}`;

let server: TestServer;
let caller: { tenantId: string; key: string; readToken: string; values: Record<string, string> };
let otherTenantId: string;
let otherKey: string;
/** Values that name records of the other workspace. */
let otherValues: Record<string, string>;
/** Values that have the forms of `otherValues` and name no record. */
let absentValues: Record<string, string>;
let hashesQuery: string;
/** Identifiers of the other workspace's records. */
let identifiers: string[];

beforeAll(async () => {
  server = await testServer({ checkpointSeconds: undefined });
  const workspaces = [await server.workspace(), await server.workspace(MARK)] as const;
  const fill = async (tenantId: string, mark: string) => {
    const { browser } = await createPerson(server, { [tenantId]: 'admin' }, `admin-${mark}@example.com`);
    const key = await server.key(tenantId);
    return { key, values: await storeOneOfEach({ url: server.url, tenantId, key, cookie: browser.cookie! }, mark) };
  };
  const { values: secretValues } = await fill(workspaces[1], SECRET);
  const [callerRecords, otherRecords] = [await fill(workspaces[0], 'own'), await fill(workspaces[1], MARK)];
  caller = {
    tenantId: workspaces[0],
    key: callerRecords.key,
    readToken: callerRecords.values.read_token!,
    values: callerRecords.values,
  };
  otherTenantId = workspaces[1];
  otherKey = otherRecords.key;
  otherValues = { ...otherRecords.values, email: `admin-${MARK}@example.com`, password: 'not the password of anybody' };
  hashesQuery = await createHashesQuery();
  identifiers = [...Object.values(otherRecords.values), ...Object.values(secretValues)].filter((value) => IDENTIFIER.test(value));
  absentValues = Object.fromEntries(
    Object.entries(otherValues).map(([name, value]) => [name, name in SHARED_PARAMETERS ? value : absentValueFor(value)]),
  );
});

const IDENTIFIER = /^([0-9a-f]{12}$|[0-9a-f]{8}-|aa_read_)/;

/** A value that has the form of `value` and names no record. */
const absentValueFor = (value: string): string => {
  if (value.includes(MARK)) return value.replace(MARK, ABSENT_MARK);
  if (/^[0-9a-f]{8}-/.test(value)) return randomUUID();
  return value.replace(/[0-9a-f]{12}/, randomBytes(6).toString('hex'));
};

/** A request whose path, query string or body names records. */
interface NamingRequest {
  path: string;
  body?: unknown;
}

/**
 * Returns requests for a route, with the given values in the path. A route with bodies gets one request for each schema, with the required
 * members and every member that has a value; /v1/traces gets an export. Any other route gets one request with only the required query
 * parameters, and one more for each parameter that has a value.
 */
function requestsOf(route: ServedRoute, workspace: string, values: Record<string, string>): NamingRequest[] {
  const path = route.path
    .replace('/*', '/')
    .replace(':workspace', workspace)
    .replace(/:(\w+)/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`storeOneOfEach has no value for the parameter ${name} of ${route.path}`);
      return encodeURIComponent(value);
    });
  const choice = { valueOf: (name: string) => values[name], includes: (name: string) => values[name] !== undefined };
  if (route.path === '/v1/traces') return [{ path, body: exportOf(values) }];
  if (route.bodies !== undefined) return route.bodies.map((schema) => ({ path, body: exampleOf(schema, choice) }));
  const members = Object.keys(route.query?.properties ?? {}).filter((name) => values[name] !== undefined);
  return [undefined, ...members].map((member) => {
    const only = {
      includes: (name: string) => name === member,
      valueOf: (name: string) => (name === member ? values[name] : undefined),
    };
    const query = Object.entries(exampleOf(route.query ?? { type: 'object' }, only) as object);
    const search = new URLSearchParams(query.map(([name, value]): [string, string] => [name, String(value)]));
    return { path: search.size === 0 ? path : `${path}?${search}` };
  });
}

const exportOf = ({ trace_id, agent_name }: Record<string, string>) =>
  jsonExport([{ traceId: '0'.repeat(31) + '1', spanId: '0'.repeat(15) + '1', attributes: { 'session.id': trace_id } }], {
    'service.name': agent_name,
  });

/** Sends a request with a credential of the caller's workspace. Each request has a new session, because some routes end it. */
async function send({ method, credential }: ServedRoute, { path, body }: NamingRequest) {
  const { browser } = await createPerson(server, { [caller.tenantId]: 'admin' });
  const token = credential === 'token' ? caller.readToken : caller.key;
  const response = await fetch(server.url + path, {
    method,
    headers: {
      ...(credential === 'session' ? { cookie: browser.cookie!, origin: server.url } : { authorization: `Bearer ${token}` }),
      ...(credential === 'none' ? { origin: server.url } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** Whether the path names a record by an identifier. */
const namesRecord = ({ path }: ServedRoute): boolean =>
  [...path.matchAll(/:(\w+)/g)].some(([, name]) => name !== 'workspace' && !(name! in SHARED_PARAMETERS));

/** Creates a query that returns, for each table, a hash of all rows of a workspace ($1) or of a person ($2). */
async function createHashesQuery(): Promise<string> {
  const tables = await server.database.sql<{ name: string; owner: string }>(
    `SELECT table_name AS name, column_name AS owner FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE table_schema = 'countersign' AND table_type = 'BASE TABLE' AND column_name IN ('tenant_id', 'person_id') ORDER BY 1, 2`,
  );
  expect(tables.length).toBeGreaterThan(20);
  const hashes = tables.map(
    ({ name, owner }) =>
      `SELECT '${name}' AS name, count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM countersign.${name} AS t
        WHERE ${owner} = ${owner === 'tenant_id' ? '$1' : '$2'}::uuid`,
  );
  return hashes.join(' UNION ALL ');
}

/** Hashes of all rows of the other workspace and of one of its members, by table. */
const otherRowHashes = () => server.database.sql(hashesQuery, [otherTenantId, otherValues.person]);

/** The secret text and the identifiers of the other workspace that a response contains and its request does not. */
function revealedTexts(text: string, { path, body }: NamingRequest): string[] {
  const requestText = decodeURIComponent(path) + JSON.stringify(body ?? '');
  return [SECRET, ...identifiers].filter((value) => text.includes(value) && !requestText.includes(value));
}

/** Replaces the names of a request in its response. Then responses to requests with different names can be compared. */
const withoutNames = (text: string, values: Record<string, string>): string =>
  Object.values(values)
    .filter((value) => value.length > 8)
    .toSorted((left, right) => right.length - left.length)
    .reduce((rest, value) => rest.replaceAll(value, 'NAME'), text);

describe("every route of the caller's workspace, called with names of records of another workspace", () => {
  test.each(EVERY_ROUTE)('$method $path reveals nothing of the other workspace and changes nothing in it', async (route) => {
    const before = await otherRowHashes();
    const named = requestsOf(route, caller.tenantId, otherValues);
    const control = requestsOf(route, caller.tenantId, absentValues);
    expect(named.length).toBeGreaterThan(0);
    for (const [index, request] of named.entries()) {
      const response = await send(route, request);
      expect({ request, revealed: revealedTexts(response.text, request) }).toEqual({ request, revealed: [] });
      expect(response.status < 500 || response.status === 503).toBe(true);
      if (namesRecord(route)) expect({ request, status: response.status }).toEqual({ request, status: 404 });
      if (JSON.stringify(request) === JSON.stringify(control[index])) continue;
      const expected = await send(route, control[index]!);
      expect({ request, status: response.status }).toEqual({ request, status: expected.status });
      if (response.status >= 400)
        expect(withoutNames(response.text, otherValues)).toBe(withoutNames(expected.text, absentValues));
    }
    expect(await otherRowHashes()).toEqual(before);
  });
});

describe("every route of another workspace, called with credentials of the caller's workspace", () => {
  test.each(EVERY_ROUTE.filter(({ path }) => path.includes(':workspace')))('$method $path responds with 404', async (route) => {
    const before = await otherRowHashes();
    for (const request of requestsOf(route, otherTenantId, otherValues)) {
      const { status, text } = await send(route, request);
      expect([status, revealedTexts(text, request)]).toEqual([404, []]);
    }
    expect(await otherRowHashes()).toEqual(before);
  });
});

test('members of the other workspace get its identifiers from more than 25 routes, so the tests above can fail', async () => {
  const { browser } = await createPerson(server, { [otherTenantId]: 'admin' });
  let revealingRouteCount = 0;
  for (const route of EVERY_ROUTE.filter(({ method, path }) => method === 'GET' && path.includes(':workspace'))) {
    const [request] = requestsOf(route, otherTenantId, otherValues);
    const response = await fetch(server.url + request!.path, { headers: { cookie: browser.cookie! } });
    if (revealedTexts(await response.text(), { path: '' }).length > 0) revealingRouteCount += 1;
  }
  expect(revealingRouteCount).toBeGreaterThan(25);
});

describe('a cursor of a list of another workspace', () => {
  const lists = EVERY_ROUTE.filter(({ query }) => query?.properties.cursor !== undefined);

  let longTrace: string;
  beforeAll(async () => {
    // A page of steps has at most 1,000 steps. All other lists have at least two rows, because `fill` was called twice.
    const spans = Array.from({ length: 1_001 }, (_, index) => ({ span_id: `${index}`, kind: 'other', name: SECRET }));
    for (let sentCount = 0; sentCount < spans.length; sentCount += SPANS_MAX) {
      const trace = { trace_id: 'long', agent_name: `agent-${MARK}`, spans: spans.slice(sentCount, sentCount + SPANS_MAX) };
      const { status, body } = await server.post(paths.traces, otherKey, trace);
      expect(status).toBe(200);
      longTrace = body.id;
    }
  });

  test.each(lists)(
    "does not make $method $path of the caller's workspace reveal anything of the other workspace",
    async (route) => {
      const { browser } = await createPerson(server, { [otherTenantId]: 'admin' });
      const named = { ...otherValues, trace: longTrace };
      const listPath = requestsOf(route, otherTenantId, named)[0]!.path.replace('/api/portal', '');
      const { body: first } = await browser.call(
        'GET',
        listPath + (route.query.properties.limit === undefined ? '' : '?limit=1'),
      );
      const query = `?cursor=${encodeURIComponent(first.next)}`;
      // The other workspace has rows after the cursor, and its members get them.
      const { status: otherStatus, body: rest } = await browser.call('GET', listPath + query);
      expect([otherStatus, revealedTexts(JSON.stringify(rest), { path: '' }).length > 0]).toEqual([200, true]);
      for (const values of [caller.values, named]) {
        const path = requestsOf(route, caller.tenantId, values)[0]!.path + query;
        const { status, text } = await send(route, { path });
        expect({ path, status, revealed: revealedTexts(text, { path }) }).toEqual({ path, status: 200, revealed: [] });
      }
    },
  );
});

describe('idempotency keys of the other workspace', () => {
  test.each(Object.values(operations).filter(({ replayable }) => replayable))(
    '$path does not replay the response of the other workspace',
    async ({ path, bodies }) => {
      const choice = { valueOf: () => undefined, includes: () => false };
      const [body, headers] = [exampleOf(bodies[0], choice), { 'idempotency-key': randomUUID() }];
      const otherResponse = await server.post(path, otherKey, body, headers);
      const response = await server.post(path, caller.key, body, headers);
      expect([otherResponse.status, response.status, response.headers.get('idempotent-replayed')]).toEqual([200, 200, null]);
      expect((await server.post(path, caller.key, body, headers)).headers.get('idempotent-replayed')).toBe('true');
    },
  );
});

describe('the prefix of a key of another workspace', () => {
  test.each(EVERY_ROUTE.filter(({ credential }) => credential === 'key' || credential === 'token'))(
    "is rejected by $method $path together with the secret of a key of the caller's workspace",
    async (route) => {
      const key = (route.credential === 'key' ? caller.key : caller.readToken).replace(/[0-9a-f]{12}/, otherValues.prefix!);
      const [request] = requestsOf(route, caller.tenantId, otherValues);
      const response = await fetch(server.url + request!.path, {
        method: route.method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(route.method === 'GET' ? {} : { body: '{}' }),
      });
      expect(response.status).toBe(401);
    },
  );
});
