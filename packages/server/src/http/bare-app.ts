import { METHODS, type Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import { ApiError } from '../errors/api-error.ts';
import { newId } from '../storage/new-id.ts';
import type { Connections } from './connections.ts';
import {
  answerClientError,
  answerWhatNodeWouldNot,
  type EarlyRefusal,
  noteEarlyRefusals,
  replyError,
  replyUnreadablePath,
  swallowRest,
} from './error-reply.ts';
import { deferContinue } from './expect-continue.ts';
import { paceRequests } from './paced-input.ts';

/** What every listener of the server has. */
export interface BareAppParts {
  connections: Connections;
  log: FastifyBaseLogger;
  tls: { cert: string; key: string } | undefined;
  /** The error to answer a request with before anything else, or undefined for a good request. */
  checkRequest: (request: FastifyRequest) => ApiError | undefined;
  /** Takes note of what is refused before any hook runs. */
  noteEarlyRefusal?: (refusal: EarlyRefusal) => void;
}

/** Time for the headers and the body of a request to arrive. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Node would answer a request without Host by itself, with neither body nor request id: the hook below answers it. A client may close
 * its side after its requests and still read the answers; for TLS that is a setting, for TCP Node's default.
 */
const NODE_SETTINGS = { requireHostHeader: false, allowHalfOpen: true };

/** An application without routes: its connections are bounded, its requests have an id, and its errors are those of the table. */
export function bareApp({ connections, log, tls, checkRequest, noteEarlyRefusal }: BareAppParts): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 72_000,
    clientErrorHandler: answerClientError,
    frameworkErrors: replyUnreadablePath,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true },
    exposeHeadRoutes: false,
    ...(tls === undefined ? { http: NODE_SETTINGS } : { https: { ...tls, ...NODE_SETTINGS } }),
  } as object) as unknown as FastifyInstance;
  answerWhatNodeWouldNot(httpServer(app));
  deferContinue(httpServer(app));
  connections.watch(httpServer(app), tls !== undefined);
  const connected = tls === undefined ? 'connection' : 'secureConnection';
  if (noteEarlyRefusal !== undefined) noteEarlyRefusals(httpServer(app), connected, noteEarlyRefusal);
  paceRequests(httpServer(app), connected, (missing) =>
    log.warn({ missing, node: process.version }, 'requests of a connection are not paced: this version of Node is not supported'),
  );

  // Bodies are read by read-body.ts, after the key: Fastify is to leave stream and Content-Type alone, whatever the method.
  // All methods that Node reads, so that one which nobody takes is told so too.
  for (const method of METHODS) if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });

  app.decorateRequest('refusal', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    done(checkRequest(request));
  });
  app.setErrorHandler((error, request, reply) => {
    swallowRest(request);
    replyError(error, request, reply);
  });
  app.setNotFoundHandler((request, reply) => {
    swallowRest(request);
    replyError(new ApiError('not_found'), request, reply);
  });
  return app;
}

/** The server under an application, for what Fastify does not offer. */
export const httpServer = (app: FastifyInstance): Server => app.server as Server;
