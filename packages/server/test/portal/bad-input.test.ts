import { randomUUID } from 'node:crypto';
import type { PortalRoute } from '@countersign/core/portal/route';
import { PAGE_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { type PortalClient, portalClient } from '../harness/portal-client.ts';
import { paths, type TestServer, testServer } from '../harness/test-server.ts';

let server: TestServer;
let admin: PortalClient;
/** For each path parameter, the value of an existing record. */
const params: Record<string, string> = { seq: '1', log: 'audit', number: '1', ordinal: '0' };

beforeAll(async () => {
  server = await testServer();
  const workspace = await server.workspace();
  const key = await server.key(workspace);
  admin = await portalClient(server, workspace, 'admin');
  const named = { agent_name: 'bot' };
  params.trace = (
    await server.post(paths.traces, key, { trace_id: 't', ...named, spans: [{ span_id: 's', kind: 'llm', name: 'n' }] })
  ).body.id;
  await server.post(paths.telemetry, key, { trace_id: 'e', outcome: 'x' });
  params.evaluation = (await server.post(paths.evaluations, key, { name: 'n', ...named })).body.id;
  params.decision = (await server.post(paths.promotionCheck, key, named)).body.decision_id;
  params.agent = (await admin.getResult('agents.list')).items[0]!.id;
  params.submission = (await admin.getResult('runs.list', { query: { source: 'telemetry' } })).items[0]!.id;
  const body = { agent_id: params.agent, severity: 'low', description: 'd', recertify: true };
  params.incident = (await admin.getResult('incidents.open', { body })).id;
  params.prefix = (await admin.getResult('keys.list')).items[0]!.prefix;
  params.key = (await admin.getResult('signing.read')).decision_keys[0]!.key_id;
});

const routes = Object.entries(PAGE_ROUTES) as [RouteName, PortalRoute][];
type Member = {
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  pattern?: string;
  maxLength?: number;
  minLength?: number;
};
const membersOf = (schema: PortalRoute['query']): [string, Member][] =>
  Object.entries(schema?.properties ?? {}) as [string, Member][];

/** A valid value for each required query member, except the one under test. */
const goodQuery = ({ query }: PortalRoute, except: string): Record<string, string> =>
  Object.fromEntries(
    ((query?.required as string[] | undefined) ?? []).filter((name) => name !== except).map((name) => [name, '0']),
  );

/** Texts that a query member rejects. */
function wrongTexts({ format, pattern, enum: values }: Member): string[] {
  if (values !== undefined || format !== undefined) return ['', 'nonsense', '0', "' OR 1=1 --"];
  return pattern?.includes('\\d')
    ? ['', '-1', '1e3', '0x10', ' 5', '99999999999999999999']
    : ['', 'a\u0000b', '\u0007', 'x'.repeat(513)];
}

const queryMembers = routes.flatMap(([name, route]) =>
  membersOf(route.query).map(([member, schema]) => ({ name, route, member, schema })),
);

describe('a wrong member of a query', () => {
  test.each(queryMembers)('$name: rejects $member with a 422 at its path', async ({ name, route, member, schema }) => {
    for (const text of wrongTexts(schema)) {
      const { status, body } = await admin.callRoute(name, { params, query: { ...goodQuery(route, member), [member]: text } });
      expect({ text, status, error: body.error, paths: body.issues?.map(({ path }: { path: string }) => path) }).toEqual({
        text,
        status: 422,
        error: 'validation_failed',
        paths: [`/${member}`],
      });
    }
  });

  test.each(routes.filter(([, { query }]) => query !== undefined))('%s: names an unknown member', async (name, route) => {
    const { status, body } = await admin.callRoute(name, { params, query: { ...goodQuery(route, ''), agnet_id: randomUUID() } });
    expect([status, body.issues[0]]).toMatchObject([422, { path: '/agnet_id', code: 'unknown_member' }]);
  });

  test.each(queryMembers.filter(({ member }) => member === 'cursor'))('$name: rejects an invalid cursor', async ({ name }) => {
    const texts = [
      'x',
      'bnVsbA',
      ...[
        [],
        ['a'],
        ['\u0000'],
        ['1', '1'],
        ['9e99'],
        [randomUUID(), '-1'],
        ['0000-00-00T00:00:00Z', randomUUID()],
        [{}],
        Array(9).fill('1'),
      ].map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url')),
    ];
    for (const cursor of texts) {
      const { status, body } = await admin.callRoute(name, { params, query: { cursor } });
      // The cursor of the list of agents is a name, so some of these texts are valid there.
      if (status === 200) expect(name).toBe('agents.list');
      else expect([cursor, status, body.issues[0].path]).toEqual([cursor, 422, '/cursor']);
    }
  });
});

describe('a forged cursor in the format of any list', () => {
  const instants = [
    '0000-01-01T00:00:00.000000Z',
    '0001-01-01T00:00:00+23:59',
    '9999-12-31T23:59:59-23:59',
    '2016-12-31T23:59:60.000000Z',
    '2016-12-31T23:59:60.500000Z',
    '2016-12-31T23:59:59+16:30',
  ];
  const numbers = ['0', '2147483647', '2147483648', '999999999999999'];
  const labels = ['%', '\u202e', '\u{10ffff}', '\ud800'];
  const forgedCursors = [
    ...instants.flatMap((at) => [randomUUID(), ...numbers, ...labels].map((rest) => [at, rest])),
    ...numbers.flatMap((number) => [
      [number],
      [randomUUID(), number],
      [number, '0', '0'],
      ['0', number, '0'],
      ['0', '0', number],
    ]),
    ...labels.map((label) => [label]),
  ].map((parts) => Buffer.from(JSON.stringify(parts)).toString('base64url'));

  test.each(queryMembers.filter(({ member }) => member === 'cursor'))(
    '$name: gives a page or a 422 and never a server error',
    async ({ name }) => {
      const statuses = new Set<number>();
      for (const cursor of forgedCursors) statuses.add((await admin.callRoute(name, { params, query: { cursor } })).status);
      expect([...statuses].filter((status) => status !== 200 && status !== 422)).toEqual([]);
    },
  );
});

/** Valid bodies, of which a test changes one member. */
const GOOD_BODIES: Partial<Record<RouteName, () => Record<string, unknown>>> = {
  'workspace.rename': () => ({ name: 'other' }),
  'retention.set': () => ({ trace_days: 365, telemetry_days: 365, confirm_short: false }),
  'agents.set_risk': () => ({ risk_level: 'low' }),
  'agents.set_archived': () => ({ archived: true }),
  'approvals.approve': () => ({ rationale: 'r', seen: '0'.repeat(64) }),
  'approvals.reject': () => ({ rationale: 'r', seen: '0'.repeat(64) }),
  'approvals.withdraw': () => ({ rationale: 'r', seen: '0'.repeat(64) }),
  'recertifications.close': () => ({ rationale: 'r', seen: '0'.repeat(64) }),
  'incidents.open': () => ({ agent_id: params.agent, severity: 'low', description: 'd', recertify: false }),
  'violations.record': () => ({ agent_id: params.agent, policy: 'p', severity: 'low', description: 'd' }),
  'keys.mint': () => ({ kind: 'live', name: 'k', scopes: ['audit'] }),
  'keys.change_scopes': () => ({ scopes: ['audit'] }),
};

/** Values that a body member rejects. */
function wrongValues({ type, enum: values, format, maxLength, minLength }: Member): unknown[] {
  const types = [type ?? 'string'].flat();
  if (types.includes('boolean')) return ['true', 0, []];
  if (types.includes('integer')) return [0, -1, 1.5, '7', {}, []];
  if (types.includes('array')) return ['audit', {}, [], ['nonsense'], ['audit', 'audit'], [1]];
  const longTexts = maxLength === undefined || maxLength > 100_000 ? [] : ['x'.repeat(maxLength + 1)];
  const invalidTexts = format !== undefined || values !== undefined ? ['nonsense'] : ['a\u0000b', '\ud800'];
  return [7, {}, [], ...(minLength === undefined ? [] : ['']), ...invalidTexts, ...longTexts];
}

const bodyMembers = routes.flatMap(([name, route]) =>
  membersOf(route.body).map(([member, schema]) => ({
    name,
    member,
    schema,
    required: ((route.body!.required as string[] | undefined) ?? []).includes(member),
  })),
);

describe('a wrong member of a body', () => {
  test('GOOD_BODIES covers every route with a body', () => {
    expect(Object.keys(GOOD_BODIES).sort()).toEqual(
      routes
        .filter(([, { body }]) => body !== undefined)
        .map(([name]) => name)
        .sort(),
    );
  });

  test.each(bodyMembers)(
    '$name: rejects $member with a 422 at its path or below, and records nothing',
    async ({ name, member, schema, required }) => {
      const countRows = () =>
        server.database.sql(
          `SELECT (SELECT count(*) FROM countersign.audit_entries) AS audit, (SELECT count(*) FROM countersign.key_events) AS keys`,
        );
      const before = await countRows();
      const good = GOOD_BODIES[name]!();
      const { [member]: _, ...bodyWithoutMember } = good;
      const bodies = wrongValues(schema).map((value) => ({ ...good, [member]: value }));
      for (const body of required ? [...bodies, bodyWithoutMember, { ...good, [member]: null }] : bodies) {
        const response = await admin.callRoute(name, { params, body: JSON.stringify(body) });
        const at: string[] = response.body.issues?.map(({ path }: { path: string }) => path) ?? [];
        expect({
          body,
          status: response.status,
          elsewhere: at.filter((path) => path !== `/${member}` && !path.startsWith(`/${member}/`)),
        }).toEqual({
          body,
          status: 422,
          elsewhere: [],
        });
        expect(at.length).toBeGreaterThan(0);
      }
      expect(await countRows()).toEqual(before);
    },
  );

  test.each(Object.keys(GOOD_BODIES) as RouteName[])(
    '%s: rejects a body that is invalid JSON, is not an object, or has an unknown member',
    async (name) => {
      for (const body of ['', '{', '[]', '7', '{"nonsense":1}']) {
        const response = await admin.callRoute(name, { params, body });
        expect([body, response.status]).toEqual([body, 422]);
      }
    },
  );
});

describe('a path parameter', () => {
  const pathParameters = routes.flatMap(([name, { path }]) =>
    [...path.matchAll(/:(\w+)/g)]
      .map(([, parameter]) => ({ name, parameter: parameter! }))
      .filter(({ parameter }) => parameter !== 'workspace'),
  );
  test.each(pathParameters)('$name: responds with 404 to an unknown or invalid $parameter', async ({ name, parameter }) => {
    const unknown: Record<string, string> = {
      seq: '999999999',
      number: '999',
      ordinal: '999',
      log: 'nonsense',
      prefix: '0123456789ab',
      key: 'dk_0123456789ab',
    };
    const body = GOOD_BODIES[name]?.();
    const query = goodQuery(PAGE_ROUTES[name as keyof typeof PAGE_ROUTES], '');
    const [, rest] = PAGE_ROUTES[name as keyof typeof PAGE_ROUTES].path.split(`:${parameter}`);
    for (const value of [unknown[parameter] ?? randomUUID(), 'nonsense', '-1', '1e9', "x' OR '1'='1", '99999999999999999999']) {
      const response = await admin.callRoute(name, {
        params: { ...params, [parameter]: value },
        query,
        ...(body === undefined ? {} : { body }),
      });
      expect({ value, rest, status: response.status }).toEqual({ value, rest, status: 404 });
    }
  });
});
