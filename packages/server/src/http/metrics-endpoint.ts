import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { ApiError } from '../errors/api-error.ts';
import { buildBareApp } from './bare-app.ts';
import { Connections } from './connections.ts';
import type { Metrics } from './metrics.ts';
import { rejectOtherMethods } from './other-methods.ts';
import { hostCheck } from './request-host.ts';

/** Who may read /metrics on a listener: no client (404), every client, or clients that send the token. */
export type MetricsAccess = 'absent' | 'open' | { readonly token: string };

/**
 * Returns the access to /metrics on the main listener. If the metrics have a separate port, access is absent. If a token is set, it is
 * required. Without a token, access is open if no other machine can reach the listener, and absent if one can (`isPublic`).
 */
export function metricsAccess(settings: {
  port: number | undefined;
  token: string | undefined;
  isPublic: boolean;
}): MetricsAccess {
  if (settings.port !== undefined) return 'absent';
  if (settings.token !== undefined) return { token: settings.token };
  return settings.isPublic ? 'absent' : 'open';
}

/** Registers /metrics with this access. */
export function registerMetrics(app: FastifyInstance, metrics: Metrics, access: MetricsAccess): void {
  if (access === 'absent') {
    app.all('/metrics', async () => {
      throw new ApiError('not_found');
    });
    return;
  }
  const mayRead = access === 'open' ? () => true : tokenCheck(access.token);
  // Scrapers often use an IP address as the host. With a token any host is safe: a page that uses DNS rebinding does not have the token.
  app.get('/metrics', { exposeHeadRoute: true, config: { anyHost: access !== 'open' } }, async ({ headers }, reply) => {
    if (!mayRead(headers.authorization)) throw new ApiError('unauthorized', [], { 'WWW-Authenticate': 'Bearer' });
    return reply.header('content-type', metrics.registry.contentType).send(await metrics.render());
  });
  rejectOtherMethods(app, ['/metrics'], ['GET', 'HEAD']);
}

/** The limits of the separate listener: a few scrapers, which may read slowly. */
const LISTENER_LIMITS = { connectionsMax: 64, perAddressMax: undefined, sendTimeoutMs: 30_000 };

/**
 * Builds the application that serves only /metrics. Its connections do not count towards the limits of the main listener.
 * @param hosts the host names that requests may have, besides loopback names. With a token, requests may have any host.
 */
export function buildMetricsApp(
  metrics: Metrics,
  { token, hosts }: { token: string | undefined; hosts: readonly string[] },
  log: FastifyBaseLogger,
): FastifyInstance {
  const app = buildBareApp({
    connections: new Connections(LISTENER_LIMITS),
    log,
    tls: undefined,
    checkRequest: hostCheck({ names: hosts, behindProxy: false }),
  });
  registerMetrics(app, metrics, token === undefined ? 'open' : { token });
  return app;
}

/** Returns a check of the Authorization header. It compares hashes, so that neither the time nor an error reveals the token. */
function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = hash('sha256', token, 'buffer');
  return (authorization) => {
    const sentToken = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    return timingSafeEqual(hash('sha256', sentToken, 'buffer'), expected);
  };
}
