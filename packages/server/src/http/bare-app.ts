import { METHODS, type Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { ApiError } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';
import type { Connections } from './connections.ts';
import {
  drainBody,
  type EarlyRejection,
  handleConnectAndExpect,
  noteEarlyRejections,
  replyError,
  replyUnreadablePath,
  respondToClientError,
} from './error-reply.ts';
import { deferContinue } from './expect-continue.ts';
import { KnownPaths } from './other-methods.ts';
import { paceRequests } from './paced-input.ts';

/** The parts of every listener. */
export interface BareAppParts {
  connections: Connections;
  log: FastifyBaseLogger;
  tls: { cert: string; key: string } | undefined;
  /** Checks a request before all other hooks; returns the error of the response, or undefined. */
  checkRequest: (request: FastifyRequest) => ApiError | undefined;
  /** Called for each early rejection. */
  noteEarlyRejection?: (rejection: EarlyRejection) => void;
}

/** The time within which the headers and the body of a request must arrive. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Node would reject a request without Host by itself. Node's response has no body and no request ID, so `checkRequest` rejects the request
 * instead. A client may close its side after its requests and still read the responses. For TLS this needs `allowHalfOpen`; for TCP it is
 * Node's default.
 */
const NODE_SETTINGS = { requireHostHeader: false, allowHalfOpen: true };

/** Builds an application without routes. It limits connections, gives each request an ID, and sends the errors of the API. */
export function buildBareApp({ connections, log, tls, checkRequest, noteEarlyRejection }: BareAppParts): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 72_000,
    clientErrorHandler: respondToClientError,
    frameworkErrors: replyUnreadablePath,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true },
    exposeHeadRoutes: false,
    ...(tls === undefined ? { http: NODE_SETTINGS } : { https: { ...tls, ...NODE_SETTINGS } }),
  } as object) as unknown as FastifyInstance;
  handleConnectAndExpect(httpServer(app));
  deferContinue(httpServer(app));
  connections.watch(httpServer(app), tls !== undefined);
  const connectionEvent = tls === undefined ? 'connection' : 'secureConnection';
  if (noteEarlyRejection !== undefined) noteEarlyRejections(httpServer(app), connectionEvent, noteEarlyRejection);
  paceRequests(httpServer(app), connectionEvent, (missing) =>
    log.warn({ missing, node: process.version }, 'requests are not paced: this version of Node is not supported'),
  );

  // read-body.ts reads bodies after the key was checked, so Fastify must touch neither the stream nor the Content-Type of a request. All
  // methods that Node parses are registered, so that an unsupported one gets a 405. For CONNECT, error-reply.ts sends the 405.
  for (const method of METHODS) if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });

  app.decorateRequest('rejection', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    done(checkRequest(request));
  });
  app.setErrorHandler((error, request, reply) => {
    drainBody(request);
    replyError(error, request, reply);
  });
  app.decorate('knownPaths', new KnownPaths());
  app.setNotFoundHandler((request, reply) => {
    drainBody(request);
    replyError(app.knownPaths.rejectionOf(request, reply), request, reply);
  });
  return app;
}

/** The HTTP server of an application, for features that Fastify lacks. */
export const httpServer = (app: FastifyInstance): Server => app.server as Server;
