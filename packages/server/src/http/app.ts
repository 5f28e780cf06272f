import { METHODS, type Server } from 'node:http';
import { openApiDocument } from '@countersign/core/contract/openapi';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { ApiError } from '../api-error.ts';
import { newId } from '../new-id.ts';
import { AnswerLog } from './answer-log.ts';
import type { Connections } from './connections.ts';
import { ConstantDocument } from './constant-document.ts';
import { docsPage } from './docs-page.ts';
import { answerClientError, answerWhatNodeWouldNot, replyError, replyUnreadablePath, swallowRest } from './error-reply.ts';
import { type LedgerApi, registerLedgerApi } from './ledger-api.ts';
import type { Metrics } from './metrics.ts';
import { refuseOtherMethods } from './other-methods.ts';
import { paceRequests } from './paced-input.ts';
import { type PublicApi, registerPublicApi } from './public-api.ts';
import { hostCheck } from './request-host.ts';

/** What the application stands on. */
export interface AppParts {
  api: PublicApi;
  connections: Connections;
  ledger: LedgerApi;
  metrics: Metrics;
  log: FastifyBaseLogger;
  tls: { cert: string; key: string } | undefined;
  /** Registers the portal: its API and its pages. */
  portal: (app: FastifyInstance) => void;
  /** Host names that requests may be addressed to, and whether a proxy passes them on. */
  hosts: { names: readonly string[]; behindProxy: boolean };
  /** Whether the server can serve. */
  readiness: { reason(): Promise<string | undefined> };
  /** What a ready server cannot do at the moment, a sentence each. */
  warnings: () => string[];
}

/** Time for the headers and the body of a request to arrive. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Node would answer a request without Host by itself, with neither body nor request id: the hook below answers it. A client may close
 * its side after its requests and still read the answers; for TLS that is a setting, for TCP Node's default.
 */
const NODE_SETTINGS = { requireHostHeader: false, allowHalfOpen: true };

/** The HTTP application; what happens to a request, and in what order, is seen here and in public-api.ts. */
export function buildApp(parts: AppParts): FastifyInstance {
  const { api, connections, ledger, portal, metrics, log, tls, hosts, readiness, warnings } = parts;
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
  connections.watch(httpServer(app), tls !== undefined);
  paceRequests(httpServer(app), tls === undefined ? 'connection' : 'secureConnection');

  // Bodies are read by read-body.ts, after the key: Fastify is to leave stream and Content-Type alone, whatever the method.
  // All methods that Node reads, so that one which nobody takes is told so too.
  for (const method of METHODS) if (method !== 'CONNECT') app.addHttpMethod(method, { hasBody: false, overrideExisting: true });

  const checkHost = hostCheck(hosts);
  app.decorateRequest('refusal', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    done(checkHost(request));
  });
  const answerLog = new AnswerLog(log);
  app.addHook('onClose', async () => answerLog.flush());
  app.addHook('onResponse', (request, reply, done) => {
    const endpoint = request.routeOptions.config?.endpoint ?? 'other';
    metrics.requests.inc({ endpoint, status: reply.statusCode });
    metrics.latency.observe({ endpoint }, reply.elapsedTime / 1000);
    answerLog.note(request, reply, endpoint);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    swallowRest(request);
    replyError(error, request, reply);
  });
  app.setNotFoundHandler((request, reply) => {
    swallowRest(request);
    replyError(new ApiError('not_found'), request, reply);
  });

  registerPublicApi(app, api);
  registerLedgerApi(app, ledger);
  portal(app);
  registerOperations(app, { metrics, readiness, warnings });
  registerDocs(app);
  return app;
}

/** What is read by a GET is asked for by HEAD too, as monitors and proxies do. */
const ALSO_BY_HEAD = { exposeHeadRoute: true } as const;

/** What probes of a platform ask, by whatever address they know. */
const PROBE = { ...ALSO_BY_HEAD, config: { anyHost: true } } as const;

/** Whether the process lives, whether it can serve, and how it does. */
function registerOperations(
  app: FastifyInstance,
  { metrics, readiness, warnings }: Pick<AppParts, 'metrics' | 'readiness' | 'warnings'>,
): void {
  app.get('/livez', PROBE, async () => ({ status: 'ok' }));
  app.get('/readyz', PROBE, async (_request, reply) => {
    const reason = await readiness.reason();
    if (reason !== undefined) return reply.code(503).header('retry-after', '1').send({ status: 'not ready', reason });
    const found = warnings();
    return found.length === 0 ? { status: 'ready' } : { status: 'ready', warnings: found };
  });
  app.get('/metrics', ALSO_BY_HEAD, async (_request, reply) =>
    reply.header('content-type', metrics.registry.contentType).send(await metrics.rendered()),
  );
  refuseOtherMethods(app, ['/livez', '/readyz', '/metrics'], ['GET', 'HEAD']);
}

/** The contract, for machines and for people. */
function registerDocs(app: FastifyInstance): void {
  const document = openApiDocument();
  const contract = new ConstantDocument(JSON.stringify(document), { 'content-type': 'application/json; charset=utf-8' });
  const page = new ConstantDocument(docsPage(document), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  });
  app.get('/openapi.json', ALSO_BY_HEAD, async (request, reply) => contract.send(request, reply));
  app.get('/docs', ALSO_BY_HEAD, async (request, reply) => page.send(request, reply));
  refuseOtherMethods(app, ['/openapi.json', '/docs'], ['GET', 'HEAD']);
}

/** The server under an application, for what Fastify does not offer. */
export const httpServer = (app: FastifyInstance): Server => app.server as Server;
