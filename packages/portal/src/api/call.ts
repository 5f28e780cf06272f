import routes, { SIGNED_IN_AS } from 'virtual:portal-routes';
import type { BodyOf, ParametersOf, PortalRoute, QueryOf, ResponseOf } from '@countersign/core/portal/route';
import type { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import { recordConnection } from './connection.ts';
import { Problem, readProblem } from './problem.ts';
import { readBody } from './read-body.ts';

type Routes = typeof PORTAL_ROUTES;
/** The name of a route of the portal's API, such as `runs.list`. */
export type RouteName = keyof Routes & string;
type RouteOf<N extends RouteName> = Routes[N] extends PortalRoute ? Routes[N] : never;

/** The response body of a route. */
export type ResponseBody<N extends RouteName> = ResponseOf<RouteOf<N>>;
/** The request body of a route. */
export type RequestBody<N extends RouteName> = BodyOf<RouteOf<N>>;
/** The query parameters of a route. */
export type Query<N extends RouteName> = QueryOf<RouteOf<N>>;
/** One item of a route that returns a page of a list. */
export type ListItem<N extends RouteName> = ResponseBody<N> extends { items: readonly (infer I)[] } ? I : never;

type CallOptions<N extends RouteName> = (keyof ParametersOf<RouteOf<N>> extends never
  ? object
  : { params: ParametersOf<RouteOf<N>> }) & {
  /** Undefined and empty values are left out. */
  query?: { [M in keyof Query<N>]: Query<N>[M] | undefined };
  signal?: AbortSignal;
} & (RequestBody<N> extends undefined ? object : { body: RequestBody<N> });

/** The URL of a route with its parameters and query. Pages use it for download links and for the files that a worker reads. */
export function urlOf<N extends RouteName>(name: N, options: CallOptions<N>): string {
  const { params = {}, query = {} } = options as { params?: Record<string, string>; query?: Record<string, unknown> };
  const path = routeOf(name)[1].replace(/:(\w+)/g, (_match, parameter: string) => encodeURIComponent(params[parameter] ?? ''));
  const search = new URLSearchParams();
  for (const [member, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(member, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/**
 * Returns the ID of the person that the page shows as signed in. main.tsx sets this function, because session.ts imports this file and
 * an import of session.ts here would be circular.
 */
let readDisplayedPersonId: () => string | undefined = () => undefined;
export const setDisplayedPersonReader = (read: () => string | undefined): void => {
  readDisplayedPersonId = read;
};

function displayedPersonHeader(): Record<string, string> {
  const id = readDisplayedPersonId();
  return id === undefined ? {} : { [SIGNED_IN_AS]: id };
}

/**
 * Calls a route of the portal's API. Returns the JSON of the response, or undefined if its body is empty. Throws a Problem if the server
 * responds with an error or does not respond, or if its response cannot be read. Rethrows the error of an abort.
 */
export async function call<N extends RouteName>(name: N, options: CallOptions<N>): Promise<ResponseBody<N>> {
  const { body, signal } = options as { body?: unknown; signal?: AbortSignal };
  const [method] = routeOf(name);
  const request = {
    method,
    credentials: 'same-origin' as const,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'GET' ? {} : displayedPersonHeader()),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  const timeoutMs = name === 'retention.set' ? WHOLE_LEDGER_TIMEOUT_MS : RESPONSE_TIMEOUT_MS;
  const response = await fetchFromServer(urlOf(name, options), request, timeoutMs);
  if (!response.ok) throw await readProblem(response);
  return (await readBody(response, signal)) as ResponseBody<N>;
}

/** The time limit of a response. It is longer than the time limit of a database statement (server/src/database/pool.ts). */
const RESPONSE_TIMEOUT_MS = 30_000;

/** The time limit of a response for which the server reads the whole audit ledger. */
const WHOLE_LEDGER_TIMEOUT_MS = 600_000;

/**
 * Sends a request and returns the response, whatever its status. Records whether the server responded, for the lost-connection
 * banner. Throws a Problem if there is no response in time. Rethrows the error of an abort. The body has no time limit, because a
 * connection can be slow.
 */
export async function fetchFromServer(
  url: string,
  init: RequestInit,
  timeoutMs: number = RESPONSE_TIMEOUT_MS,
): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const signal = init.signal ? AbortSignal.any([init.signal, timeout.signal]) : timeout.signal;
  try {
    const response = await fetch(url, { ...init, signal });
    recordConnection(response.status !== 502 && response.status !== 504);
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    recordConnection(false);
    throw new Problem(0, 'no_response');
  } finally {
    clearTimeout(timer);
  }
}

function routeOf(name: RouteName): readonly [string, string] {
  const route = routes[name];
  if (route === undefined) throw new RangeError(`${name} is not a route of the portal`);
  return route;
}
