import type { ParametersOf, PortalRoute, ResponseOf, Role } from '@countersign/core/portal/route';
import { PORTAL_ROUTES, type RouteName, type RouteOf } from '@countersign/core/portal/routes';
import { expect } from 'vitest';
import { findIssues } from '../../src/http/validate-body.ts';
import { type Browser, createPerson } from './portal-browser.ts';
import type { TestResponse, TestServer } from './test-server.ts';

/** The arguments of a call of a route. The parameter `workspace` is the client's own workspace unless `params` has another one. */
export interface CallArguments<N extends RouteName> {
  params?: Partial<ParametersOf<RouteOf<N>>>;
  query?: Record<string, string>;
  body?: unknown;
}

/** A person who uses the pages of a workspace. */
export interface PortalClient {
  id: string;
  /** The ID of the workspace. */
  workspace: string;
  browser: Browser;
  /** Calls a route by its name and returns the response. */
  callRoute<N extends RouteName>(name: N, args?: CallArguments<N>): Promise<TestResponse>;
  /** Calls a route of any method. Expects status 200 and a body that matches the route's schema, and returns the body. */
  getResult<N extends RouteName>(name: N, args?: CallArguments<N>): Promise<ResponseOf<RouteOf<N>>>;
  /** Downloads a file, expects status 200, and returns the text and the headers. */
  download<N extends RouteName>(name: N, args?: CallArguments<N>): Promise<{ text: string; headers: Headers }>;
}

/** Expects a body to match the route's schema. */
function expectSchemaOf(name: RouteName, body: unknown): void {
  const { response: schema } = PORTAL_ROUTES[name] as PortalRoute;
  expect({ name, issues: findIssues(schema!, body) }).toEqual({ name, issues: [] });
}

/** Signs in a new person with a role in a workspace. */
export async function portalClient(server: TestServer, workspace: string, role: Role): Promise<PortalClient> {
  const { id, browser } = await createPerson(server, { [workspace]: role });
  const pathOf = (name: RouteName, { params = {}, query = {} }: CallArguments<RouteName>): string => {
    const values: Record<string, string> = { workspace, ...params };
    const path = PORTAL_ROUTES[name].path.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(values[parameter]!));
    const search = new URLSearchParams(query).toString();
    return path.replace('/api/portal', '') + (search === '' ? '' : `?${search}`);
  };
  const callRoute = (name: RouteName, args: CallArguments<RouteName> = {}): Promise<TestResponse> =>
    browser.call(PORTAL_ROUTES[name].method, pathOf(name, args), args.body);
  return {
    id,
    workspace,
    browser,
    callRoute,
    getResult: async (name, args = {}) => {
      const { status, body } = await callRoute(name, args);
      expect({ name, status, issues: status === 200 ? [] : body?.issues }).toEqual({ name, status: 200, issues: [] });
      expectSchemaOf(name, body);
      return body;
    },
    download: async (name, args = {}) => {
      const response = await fetch(`${browser.url}/api/portal${pathOf(name, args)}`, { headers: { cookie: browser.cookie! } });
      expect(response.status).toBe(200);
      return { text: await response.text(), headers: response.headers };
    },
  };
}

/** Reads the page of an evaluation, and returns the body of a request that decides about this evaluation. */
export async function decisionOn(
  client: PortalClient,
  evaluation: string,
  rationale = 'looked at it',
): Promise<{ rationale: string; seen: string }> {
  const { seen } = await client.getResult('approvals.read', { params: { evaluation } });
  return { rationale, seen };
}
