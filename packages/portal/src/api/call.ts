import places, { SIGNED_IN_AS } from 'virtual:portal-routes';
import type { AnswerOf, BodyOf, ParametersOf, PortalRoute, QueryOf } from '@countersign/core/portal/route';
import type { PORTAL_ROUTES } from '@countersign/core/portal/routes';
import { recordConnection } from './connection.ts';
import { Problem, readProblem } from './problem.ts';

type Routes = typeof PORTAL_ROUTES;
/** The name of a route of the portal's API: `runs.list`. */
export type RouteName = keyof Routes & string;
type Of<N extends RouteName> = Routes[N] extends PortalRoute ? Routes[N] : never;

/** What a route answers. */
export type ResponseBody<N extends RouteName> = AnswerOf<Of<N>>;
/** The body that a route takes. */
export type RequestBody<N extends RouteName> = BodyOf<Of<N>>;
/** The query that a route takes. */
export type Query<N extends RouteName> = QueryOf<Of<N>>;
/** One item of a route that answers a page of a list. */
export type ListItem<N extends RouteName> = ResponseBody<N> extends { items: readonly (infer I)[] } ? I : never;

type Asked<N extends RouteName> = (keyof ParametersOf<Of<N>> extends never ? object : { params: ParametersOf<Of<N>> }) & {
  /** What is undefined is left out. */
  query?: { [M in keyof Query<N>]: Query<N>[M] | undefined };
  signal?: AbortSignal;
} & (RequestBody<N> extends undefined ? object : { body: RequestBody<N> });

/** The address of a route, for links that download and for streams. */
export function urlOf<N extends RouteName>(name: N, asked: Asked<N>): string {
  const { params = {}, query = {} } = asked as { params?: Record<string, string>; query?: Record<string, unknown> };
  const path = place(name)[1].replace(/:(\w+)/g, (_match, parameter: string) => encodeURIComponent(params[parameter] ?? ''));
  const search = new URLSearchParams();
  for (const [member, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(member, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Whom the page shows as signed in; set by main.tsx, which knows the cache. */
let readDisplayedPersonId: () => string | undefined = () => undefined;
export const setDisplayedPersonReader = (tell: () => string | undefined): void => {
  readDisplayedPersonId = tell;
};

function displayedPersonHeader(): Record<string, string> {
  const id = readDisplayedPersonId();
  return id === undefined ? {} : { [SIGNED_IN_AS]: id };
}

/**
 * Calls a route of the portal's API and returns its JSON. Throws a Problem: signed out, forbidden, wrong fields, or no answer at all.
 */
export async function call<N extends RouteName>(name: N, asked: Asked<N>): Promise<ResponseBody<N>> {
  const { body, signal } = asked as { body?: unknown; signal?: AbortSignal };
  const [method] = place(name);
  const response = await fetchFromServer(urlOf(name, asked), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'GET' ? {} : displayedPersonHeader()),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw await readProblem(response);
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as ResponseBody<N>;
}

/** Fetches, and tells the lost-connection banner whether an answer came. An abort is passed on as it is. */
export async function fetchFromServer(address: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(address, init);
    recordConnection(response.status !== 502 && response.status !== 504);
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    recordConnection(false);
    throw new Problem(0, 'no_answer');
  }
}

function place(name: RouteName): readonly [string, string] {
  const found = places[name];
  if (found === undefined) throw new RangeError(`${name} is no route of the portal`);
  return found;
}
