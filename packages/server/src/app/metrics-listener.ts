import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config/config.ts';
import { allowedHosts } from '../config/public-address.ts';
import { httpServer } from '../http/bare-app.ts';
import type { Metrics } from '../http/metrics.ts';
import { buildMetricsApp } from '../http/metrics-endpoint.ts';
import { listenFailure } from './listen-address.ts';

/** A listener that serves /metrics and nothing else. */
export interface MetricsListener {
  port: number;
  close(): Promise<void>;
}

/** The address of a separate port for /metrics. It is on loopback, because it has no TLS. */
export const metricsAddress = (port: number) => ({ host: '127.0.0.1', port, variable: 'COUNTERSIGN_METRICS_PORT' });

/** Serves /metrics on a separate port. Returns undefined if no such port is configured. @throws ExitError if the port cannot be used. */
export async function openMetricsListener(
  { metricsPort, metricsToken, ...names }: Pick<Config, 'metricsPort' | 'metricsToken' | 'publicUrl' | 'allowedHosts'>,
  metrics: Metrics,
  log: FastifyBaseLogger,
): Promise<MetricsListener | undefined> {
  if (metricsPort === undefined) return undefined;
  const { host, port, variable } = metricsAddress(metricsPort);
  const app = buildMetricsApp(metrics, { token: metricsToken, hosts: [host, ...allowedHosts(names)] }, log);
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw listenFailure(error, { host, port, variable });
  }
  return {
    port: (httpServer(app).address() as AddressInfo).port,
    close: async () => {
      httpServer(app).closeAllConnections();
      await app.close();
    },
  };
}
