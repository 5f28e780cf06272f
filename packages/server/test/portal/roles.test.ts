import { randomUUID } from 'node:crypto';
import { mayActAs, type PortalRoute, ROLES, type Role } from '@countersign/core/portal/route';
import { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import { beforeAll, describe, expect, test } from 'vitest';
import { findRouteErrors } from '../../src/portal/route-table.ts';
import { Browser, createPerson } from '../harness/portal-browser.ts';
import { type TestServer, testServer } from '../harness/test-server.ts';

const routes: [name: string, route: PortalRoute][] = Object.entries(PORTAL_ROUTES);

/** Every kind of caller, by role in the requested workspace. */
const CALLERS = ['nobody', 'a person without membership', ...ROLES, 'an admin of another workspace'] as const;
type CallerName = (typeof CALLERS)[number];

let server: TestServer;
let workspace: string;
const browsers = {} as Record<CallerName, Browser>;

beforeAll(async () => {
  server = await testServer();
  workspace = await server.workspace();
  const another = await server.workspace();
  browsers.nobody = new Browser(server);
  browsers['a person without membership'] = (await createPerson(server)).browser;
  for (const role of ROLES) browsers[role] = (await createPerson(server, { [workspace]: role })).browser;
  browsers['an admin of another workspace'] = (await createPerson(server, { [another]: 'admin' })).browser;
});

/** The result of the access rule alone: the rejection, or 'let through'. */
function expectedResult(access: PortalRoute['access'], caller: CallerName): string {
  if (access === 'anyone') return 'let through';
  if (caller === 'nobody') return '401 not_signed_in';
  if (access === 'person') return 'let through';
  if (!ROLES.includes(caller as Role)) return '404 not_found';
  return mayActAs(caller as Role, access) ? 'let through' : '403 forbidden';
}

/**
 * Sends a request that has no effect: the check directly after the access rule fails, and its error shows that the caller passed the
 * rule. Changes are sent with another origin, reads with an unknown query parameter.
 */
async function probeAccess({ method, path }: PortalRoute, browser: Browser): Promise<string> {
  const filledPath = path
    .slice('/api/portal'.length)
    .replace(':workspace', workspace)
    .replace(/:\w+/g, () => randomUUID());
  const { status, body } =
    method === 'GET'
      ? await browser.call(method, `${filledPath}?no_route_knows_this=1`)
      : await browser.call(method, filledPath, undefined, { origin: 'https://elsewhere.example' });
  const response = `${status} ${body.error}`;
  return response === (method === 'GET' ? '422 validation_failed' : '403 cross_origin') ? 'let through' : response;
}

describe('access of every caller to every route', () => {
  test.each(routes)('%s follows the access rule of the route', async (_name, route) => {
    const responses = await Promise.all(CALLERS.map(async (caller) => [caller, await probeAccess(route, browsers[caller])]));
    expect(responses).toEqual(CALLERS.map((caller) => [caller, expectedResult(route.access, caller)]));
  });

  test('the table of routes uses only the access rules anyone, person, viewer, approver and admin', () => {
    expect(routes.length).toBeGreaterThan(15);
    const accesses = new Set(routes.map(([, { access }]) => access));
    expect([...accesses].sort()).toEqual(['admin', 'anyone', 'approver', 'person', 'viewer']);
  });

  // Listed by hand, because the first test uses the rule that each route declares.
  test.each<[PortalRoute['access'], RegExp]>([
    ['anyone', /^(session\.sign_in|links\.\w+)$/],
    ['person', /^(session|sessions|account)\.(?!sign_in$)\w+$/],
    ['approver', /^(approvals\.(approve|reject|withdraw)|recertifications\.close)$/],
    [
      'admin',
      /^(keys\.(?!name$)\w+|key_events\.list|decision_keys\.\w+|members\.(change_role|remove|reset_password)|invitations\.\w+|workspace\.rename|retention\.set|agents\.set_(risk|archived)|incidents\.open|violations\.record)$/,
    ],
  ])('the rule %s applies to exactly the listed routes', (access, names) => {
    expect(routes.filter(([, route]) => route.access === access).map(([name]) => name)).toEqual(
      routes.map(([name]) => name).filter((name) => names.test(name)),
    );
  });

  test('the only change that the rule viewer allows is leaving the workspace', () => {
    const changing = routes.filter(([, { access, method }]) => access === 'viewer' && method !== 'GET');
    expect(changing.map(([name]) => name)).toEqual(['members.leave']);
  });

  test('a cookie with a forged session, without a session or with another name is rejected', async () => {
    const [, route] = routes.find(([name]) => name === 'members.list')!;
    const validCookie = browsers.admin.cookie!;
    for (const cookie of [
      `countersign=${'A'.repeat(43)}`,
      'countersign=',
      `x${validCookie}`,
      `__Host-${validCookie}`,
      `${validCookie}x`,
      `other=${validCookie}`,
    ])
      expect([cookie, await probeAccess(route, new Browser(server, cookie))]).toEqual([cookie, '401 not_signed_in']);
    expect(await probeAccess(route, new Browser(server, `theme=dark; ${validCookie}`))).toBe('let through');
  });

  test('an unknown and an invalid workspace ID get the same response `not_found`', async () => {
    for (const id of [randomUUID(), 'acme', '%00', "'--", '..'])
      expect((await browsers.admin.call('GET', `/workspaces/${id}/members`)).body).toEqual({ error: 'not_found', issues: [] });
  });

  test('a method that the path does not support gets a 405 with the allowed methods', async () => {
    const { status, headers } = await browsers.admin.call('PUT', '/session');
    expect([status, headers.get('allow')?.split(', ').sort()]).toEqual([405, ['DELETE', 'GET', 'POST']]);
  });
});

describe('findRouteErrors', () => {
  const path = '/api/portal/workspaces/:workspace/things' as const;
  const good: PortalRoute = { method: 'GET', path, access: 'viewer', compressed: true, summary: '' };
  const handle = async () => undefined;

  test.each<[string, Record<string, PortalRoute>, Record<string, unknown>, RegExp]>([
    ['a route without a handler', { 'a.b': good }, {}, /a\.b has no handler/],
    ['a handler without a route', { 'a.b': good }, { 'a.b': handle, 'a.c': handle }, /a\.c has a handler but no route/],
    ['a route without a rule', { 'a.b': { ...good, access: undefined as never } }, { 'a.b': handle }, /a\.b has no rule/],
    [
      'a route that does not say whether its responses are compressed',
      { 'a.b': { ...good, compressed: undefined as never } },
      { 'a.b': handle },
      /a\.b does not say whether it is compressed/,
    ],
    [
      'a role without a workspace',
      { 'a.b': { ...good, path: '/api/portal/things' } },
      { 'a.b': handle },
      /a role and no workspace/,
    ],
    ['a workspace without a role', { 'a.b': { ...good, access: 'person' } }, { 'a.b': handle }, /a workspace and no role/],
    [
      'two routes with the same method and path',
      { 'a.b': good, 'a.c': good },
      { 'a.b': handle, 'a.c': handle },
      /a\.c has the method and path of another route/,
    ],
  ])('reports %s', (_what, table, handlers, message) => {
    expect(findRouteErrors(table, handlers).join('; ')).toMatch(message);
  });

  test('reports nothing for a valid table', () => {
    expect(findRouteErrors({ 'a.b': good }, { 'a.b': handle })).toEqual([]);
  });
});
