import { openApiDocument } from '@countersign/core/contract/openapi';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { buildBareApp } from './bare-app.ts';
import type { Connections } from './connections.ts';
import { ConstantDocument } from './constant-document.ts';
import { docsPage } from './docs-page.ts';
import type { EarlyRejection } from './error-reply.ts';
import { type LedgerApi, registerLedgerApi } from './ledger-api.ts';
import type { Metrics } from './metrics.ts';
import { type MetricsAccess, registerMetrics } from './metrics-endpoint.ts';
import { rejectOtherMethods } from './other-methods.ts';
import { registerOtlpApi } from './otlp-api.ts';
import { type PublicApi, registerPublicApi } from './public-api.ts';
import { hostCheck } from './request-host.ts';
import { ResponseLog } from './response-log.ts';

/** The parts and the settings of the application. */
export interface AppParts {
  api: PublicApi;
  connections: Connections;
  ledger: LedgerApi;
  metrics: Metrics;
  /** Who may read /metrics on this listener. */
  metricsAccess: MetricsAccess;
  log: FastifyBaseLogger;
  tls: { cert: string; key: string } | undefined;
  /** Registers the portal: its API and its pages. */
  portal: (app: FastifyInstance) => void;
  /** The options of `hostCheck`. */
  hosts: { names: readonly string[]; behindProxy: boolean };
  /** `reason` returns why the server is not ready; undefined if it is ready. */
  readiness: { reason(): Promise<string | undefined> };
  /** The current warnings of a ready server, one line each. */
  warnings: () => string[];
}

/** The endpoint, in metrics and the log, of requests without a named route. */
const NO_ENDPOINT = 'other';

/** Builds the HTTP application with all routes. public-api.ts defines the order of the checks of a request. */
export function buildApp(parts: AppParts): FastifyInstance {
  const { api, connections, ledger, portal, metrics, metricsAccess, log, tls, hosts, readiness, warnings } = parts;
  const responseLog = new ResponseLog(log);
  const noteEarlyRejection = (rejection: EarlyRejection) => {
    metrics.requests.inc({ endpoint: NO_ENDPOINT, status: rejection.status });
    responseLog.noteEarly(rejection, NO_ENDPOINT);
  };
  const app = buildBareApp({ connections, log, tls, checkRequest: hostCheck(hosts), noteEarlyRejection });
  app.addHook('onClose', async () => responseLog.flush());
  app.addHook('onResponse', (request, reply, done) => {
    const endpoint = request.routeOptions.config?.endpoint ?? NO_ENDPOINT;
    metrics.requests.inc({ endpoint, status: reply.statusCode });
    metrics.latency.observe({ endpoint }, reply.elapsedTime / 1000);
    responseLog.note(request, reply, endpoint);
    done();
  });

  registerPublicApi(app, api);
  registerOtlpApi(app, api);
  registerLedgerApi(app, ledger);
  portal(app);
  registerProbes(app, { readiness, warnings });
  registerMetrics(app, metrics, metricsAccess);
  registerDocs(app);
  return app;
}

/** Option of GET routes that also support HEAD, which monitors and proxies use. */
const HEAD_OPTIONS = { exposeHeadRoute: true } as const;

/** Options of the routes for probes. Requests to these routes may have any host name. */
const PROBE_OPTIONS = { ...HEAD_OPTIONS, config: { anyHost: true } } as const;

/** Registers the probes: whether the process is alive, and whether it is ready. */
function registerProbes(app: FastifyInstance, { readiness, warnings }: Pick<AppParts, 'readiness' | 'warnings'>): void {
  app.get('/livez', PROBE_OPTIONS, async () => ({ status: 'ok' }));
  app.get('/readyz', PROBE_OPTIONS, async (_request, reply) => {
    const reason = await readiness.reason();
    if (reason !== undefined) return reply.code(503).header('retry-after', '1').send({ status: 'not ready', reason });
    const currentWarnings = warnings();
    return currentWarnings.length === 0 ? { status: 'ready' } : { status: 'ready', warnings: currentWarnings };
  });
  rejectOtherMethods(app, ['/livez', '/readyz'], ['GET', 'HEAD']);
}

/** Registers /openapi.json and /docs: the contract for machines and for people. */
function registerDocs(app: FastifyInstance): void {
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const contract = new ConstantDocument(() => JSON.stringify(openApiDocument()), json);
  const page = new ConstantDocument(() => docsPage(openApiDocument()), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  });
  app.get('/openapi.json', HEAD_OPTIONS, async (request, reply) => contract.send(request, reply));
  app.get('/docs', HEAD_OPTIONS, async (request, reply) => page.send(request, reply));
  rejectOtherMethods(app, ['/openapi.json', '/docs'], ['GET', 'HEAD']);
}
