import type { IncomingHttpHeaders } from 'node:http';
import { type PortalRoute, SIGNED_IN_AS } from '@countersign/core/portal/route';
import { PORTAL_ROUTES, type RouteName } from '@countersign/core/portal/routes';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { repeatAfterConflict } from '../database/pool.ts';
import { ApiError } from '../errors/api-error.ts';
import { rejectOtherMethods } from '../http/other-methods.ts';
import type { OutgoingResponse } from '../http/outgoing.ts';
import type { Caller } from '../people/sign-in.ts';
import { asPortalError } from './act-errors.ts';
import { type Handler, Reply } from './handler.ts';
import { linkHandlers } from './link-handlers.ts';
import { memberHandlers } from './member-handlers.ts';
import { PAGE_HANDLERS } from './page-handlers.ts';
import { readParameters, requireForms } from './parameters.ts';
import type { PortalParts } from './portal-parts.ts';
import { inputReader } from './read-input.ts';
import { findRouteErrors } from './route-table.ts';
import { sessionHandlers } from './session-handlers.ts';
import { authorize, type Requester } from './signed-in.ts';

/** Every route needs a handler and every handler a route, or this does not compile. */
const HANDLERS: { [N in RouteName]: Handler<N> } = {
  ...sessionHandlers,
  ...linkHandlers,
  ...memberHandlers,
  ...PAGE_HANDLERS,
};

// biome-ignore lint/suspicious/noExplicitAny: each handler accepts the request of its own route; the table above links them by name.
type AnyHandler = (request: any) => Promise<unknown>;

/**
 * Registers the portal's API from the table of its routes. All routes make their checks in the same order: form of the workspace's ID;
 * session, membership and role; origin and signed-in person (not for GET); free disk space (not for GET or with `usesReserve`); query and
 * body; other parameters of the path. After a body was read, session, membership and role are checked again. Then the handler runs.
 */
export function registerPortalApi(app: FastifyInstance, parts: PortalParts): void {
  const names = Object.keys(PORTAL_ROUTES) as RouteName[];
  const errors = findRouteErrors(PORTAL_ROUTES, HANDLERS);
  if (errors.length > 0) throw new Error(`the table of the portal's routes is wrong: ${errors.join('; ')}`);
  for (const name of names) registerRoute(app, parts, name, PORTAL_ROUTES[name], HANDLERS[name]);
  rejectUnsupportedMethods(app, Object.values(PORTAL_ROUTES), parts);
}

function registerRoute(app: FastifyInstance, parts: PortalParts, name: RouteName, route: PortalRoute, handler: AnyHandler): void {
  const readInput = inputReader(route, parts);
  app.route({
    method: route.method,
    url: route.path,
    config: { endpoint: `portal:${name}` },
    handler: async (request, reply) => {
      void reply.headers(parts.headers.api);
      try {
        const params = readParameters(request.params as Record<string, string>);
        const authorizeRequest = () => authorize(parts, route.access, request.headers, params);
        const requester = await authorizeRequest();
        if (route.method !== 'GET') {
          parts.sameOrigin.require(request.headers);
          requireSamePerson(request.headers, requester);
          if (route.usesReserve !== true) parts.space?.requireSpace();
        }
        const { query, body } = await readInput(request, requester);
        requireForms(params);
        // A body may take a minute to arrive. Meanwhile the person may have been signed out, demoted or removed.
        const currentRequester = route.body === undefined ? requester : await authorizeRequest();
        const sessionToken = parts.cookie.read(request.headers.cookie);
        const caller = callerOf(request, parts);
        const response = parts.outgoing.begin(reply, memoryOwnerOf(currentRequester));
        return await response.run(async () => {
          const act = () => handler({ ...currentRequester, params, query, body, sessionToken, caller, parts, memory: response });
          const result = await (route.method === 'GET' ? act() : repeatAfterConflict(act));
          return send(reply, { route, response, result }, parts);
        });
      } catch (error) {
        throw asPortalError(error);
      }
    },
  });
}

/** Rejects a request from a page that was opened while another person was signed in. A request that names no person is accepted. */
function requireSamePerson({ [SIGNED_IN_AS]: pagePersonId }: IncomingHttpHeaders, { person }: Requester): void {
  if (pagePersonId === undefined || person === undefined || pagePersonId === person.id) return;
  const message = `${person.name} has signed in with this browser since this page was opened; reload the page and repeat the action`;
  throw new ApiError('refused', [{ path: '', code: 'refused', message }]);
}

/** Behind a proxy, the last address in X-Forwarded-For is the address of the proxy's client. Earlier addresses are unverified. */
function callerOf({ headers, ip }: FastifyRequest, { behindProxy }: PortalParts): Caller {
  const forwarded = behindProxy ? headers['x-forwarded-for'] : undefined;
  const last = String(forwarded ?? '')
    .split(',')
    .at(-1)!
    .trim();
  return { address: last === '' ? ip : last, userAgent: headers['user-agent'] ?? null };
}

/**
 * The ID under which memory for a response is reserved: the workspace, or the person if there is no workspace. All requests to routes for
 * anyone share one allowance.
 */
function memoryOwnerOf({ workspace, person }: Requester): string {
  return workspace ?? person?.id ?? 'nobody';
}

/** The result of a handler, with its route and the response to send. */
interface HandlerResult {
  route: PortalRoute;
  response: OutgoingResponse;
  result: unknown;
}

async function send(reply: FastifyReply, { route, response, result }: HandlerResult, parts: PortalParts): Promise<FastifyReply> {
  const { body, headers, isJson } = result instanceof Reply ? result : Reply.json(result, {});
  void reply.headers(headers);
  if (isJson) {
    void reply.header('content-type', 'application/json; charset=utf-8');
    const text = JSON.stringify(body);
    return response.send(route.compressed ? await compressText(reply, text, parts) : text);
  }
  if (typeof body === 'string' || Buffer.isBuffer(body)) return response.send(body);
  return response.stream(body as AsyncIterable<string>);
}

/** Returns the compressed text and sets its headers. Returns the text itself if `Compressor.compress` does not compress it. */
async function compressText(reply: FastifyReply, text: string, { compressor }: PortalParts): Promise<string | Buffer> {
  void reply.header('vary', 'accept-encoding');
  const compressed = await compressor.compress(text, reply.request.headers['accept-encoding']);
  if (compressed === undefined) return text;
  void reply.header('content-encoding', compressed.encoding);
  return compressed.bytes;
}

/** Responds with 405, and not with a page, to a known path with an unsupported method. */
function rejectUnsupportedMethods(app: FastifyInstance, routes: readonly PortalRoute[], { headers }: PortalParts): void {
  const methodsByPath = new Map<string, string[]>();
  for (const { path, method } of routes) methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), method]);
  for (const [url, methods] of methodsByPath) rejectOtherMethods(app, [url], methods, headers.api);
}
