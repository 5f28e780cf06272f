import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { checkpointFolder } from '../checkpoints/checkpoint-folder.ts';
import { type CheckpointSchedule, scheduleCheckpoints } from '../checkpoints/checkpoint-schedule.ts';
import type { Config } from '../config/config.ts';
import { allowedHosts, isPublic } from '../config/public-address.ts';
import { Admission } from '../database/admission.ts';
import { requireSeals } from '../database/seals.ts';
import type { TenantNodes } from '../database/tenant-nodes.ts';
import { type AppParts, buildApp } from '../http/app.ts';
import { Authenticator } from '../http/authenticate.ts';
import { httpServer } from '../http/bare-app.ts';
import { BodyPreparer } from '../http/body-preparer.ts';
import { Connections } from '../http/connections.ts';
import { Metrics } from '../http/metrics.ts';
import { metricsAccess } from '../http/metrics-endpoint.ts';
import { Outgoing } from '../http/outgoing.ts';
import type { PublicApi } from '../http/public-api.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { countRefusedLogs } from '../ledger/head-memory.ts';
import { PAGES_FOLDER, readBuiltPages } from '../portal/built-pages.ts';
import { registerPages } from '../portal/pages.ts';
import { registerPortalApi } from '../portal/portal-api.ts';
import { connectionLimits } from './connection-limits.ts';
import { listenFailure } from './listen-address.ts';
import { type MetricsListener, openMetricsListener } from './metrics-listener.ts';
import type { OpenDatabase } from './open-database.ts';
import { openLedgerReader } from './open-ledger-reader.ts';
import { openPortal } from './open-portal.ts';
import { openRecordWriters } from './open-record-writers.ts';
import { openTenantNodes } from './open-tenant-nodes.ts';
import { databaseReadiness } from './readiness.ts';
import { warningsOf } from './warnings.ts';
import { startWatches, type Watches } from './watches.ts';

/** The time limit for requests that are in progress when the server stops. */
const STOP_TIMEOUT_MS = 5_000;

/** A server that is listening. */
export interface RunningServer {
  address: { host: string; port: number };
  /** The separate port of /metrics, if configured. */
  metricsPort: number | undefined;
  /** Compares the tables of every workspace with its evidence log now. Does nothing if a comparison is in progress. */
  compareTables(): Promise<void>;
  /** Verifies the logs of every workspace now, with the traces and other tables that must match them. */
  verifyLogs(): Promise<void>;
  /** Compares the schema of the database with the schema that the migrations create, now. */
  compareSchema(): Promise<void>;
  /** Stops the background work, accepts no more requests, waits up to five seconds for requests in progress, and closes all connections. */
  close(): Promise<void>;
}

/** Options for tests and `bench/`. Operators cannot set them. */
export interface StartOptions {
  /** Registers additional routes that use the parts of the server. `bench/` compares the product's routes with them. */
  alsoRegister?: (app: FastifyInstance, api: PublicApi) => void;
  /** The maximum age of the text of /metrics, in milliseconds. */
  metricsRenderMs?: number;
  /** Whether the schema is compared before the server listens; by default true. The comparison takes a tenth of the time of a start. */
  comparesSchemaFirst?: boolean;
  /** Prepares large bodies; by default a new instance. It is closed with the server. */
  bodyPreparer?: BodyPreparer;
}

/** The limits of memory for requests and responses. */
interface MemoryLimits {
  /** Records that wait for a commit. */
  readonly queue: Admission;
  /** Request bodies. */
  readonly reading: Admission;
  /** Responses. */
  readonly answering: Admission;
}

/** The parts of a server that run until they are stopped. */
interface RunningParts {
  readonly bodyPreparer: BodyPreparer;
  watches?: Watches;
  checkpoints?: CheckpointSchedule;
  nodes?: TenantNodes | undefined;
  app?: FastifyInstance;
  metricsListener?: MetricsListener | undefined;
}

/** Starts a server. If that fails, stops the parts that were started. */
export async function startServer(
  config: Config,
  database: OpenDatabase,
  log: Logger,
  options: StartOptions = {},
): Promise<RunningServer> {
  const running: RunningParts = { bodyPreparer: options.bodyPreparer ?? new BodyPreparer() };
  try {
    return await startParts(config, database, log, { options, running });
  } catch (error) {
    await stopParts(running).catch((stopError: unknown) =>
      log.error({ err: stopError }, 'a part of the server did not stop after the start failed'),
    );
    throw error;
  }
}

/** Creates the parts of a server, passes them to each other as arguments, and listens. */
async function startParts(
  config: Config,
  database: OpenDatabase,
  log: Logger,
  {
    options: { alsoRegister, metricsRenderMs, comparesSchemaFirst = true },
    running,
  }: { options: StartOptions; running: RunningParts },
): Promise<RunningServer> {
  const { bodyPreparer } = running;
  const memory: MemoryLimits = {
    queue: new Admission(config.queueBytesMax),
    reading: new Admission(config.readingBytesMax),
    answering: new Admission(config.answeringBytesMax),
  };
  const watches = startWatches(config, database, log);
  running.watches = watches;
  requireSeals(database.pool).broken.listen((row) =>
    log.error(
      row,
      'this row is not valid or is missing: the database was changed outside the server; put it back from a backup, or delete it if it was added',
    ),
  );
  const connections = new Connections(connectionLimits(config));
  const metrics = openMetrics({ database, memory, watches, connections, bodyPreparer, metricsRenderMs });
  const checkpoints = scheduleCheckpoints(database, {
    everySeconds: config.checkpointSeconds,
    sink: config.checkpointDir === undefined ? undefined : checkpointFolder(config.checkpointDir),
    log,
  });
  running.checkpoints = checkpoints;
  const nodes = await openTenantNodes(config, database, log);
  running.nodes = nodes;
  const api: PublicApi = {
    writers: openRecordWriters({
      database,
      queue: memory.queue,
      metrics,
      connections: config.databaseConnections,
      runIds: watches.runIds,
      nodes,
    }),
    authenticator: new Authenticator(database.lookupPool, nodes),
    space: watches.space,
    rateLimit: config.rateLimitPerMinute === undefined ? undefined : new RateLimit(config.rateLimitPerMinute),
    reading: memory.reading,
    bytesMax: { report: config.reportBytesMax, record: config.recordBytesMax },
    bodyPreparer,
  };
  const reader = openLedgerReader(database, checkpoints);
  const outgoing = new Outgoing(memory.answering);
  const portal: AppParts['portal'] = (into) => {
    const parts = openPortal(config, database, {
      reader,
      reading: memory.reading,
      space: watches.space,
      outgoing,
      evidenceFindings: watches.evidence.findings,
      ledgerFindings: watches.ledgers.findings,
      traceFindings: watches.traces.findings,
    });
    registerPortalApi(into, parts);
    registerPages(into, { files: readBuiltPages(PAGES_FOLDER), headers: parts.headers });
  };
  const app = buildApp({
    api,
    portal,
    connections,
    ledger: { reader, outgoing, authenticator: api.authenticator, rateLimit: api.rateLimit },
    metrics,
    metricsAccess: metricsAccess({ port: config.metricsPort, token: config.metricsToken, isPublic: isPublic(config) }),
    log,
    tls: config.tls,
    hosts: { names: allowedHosts(config), behindProxy: config.behindProxy },
    readiness: databaseReadiness(database),
    warnings: () => warningsOf(database, watches),
  });
  running.app = app;
  alsoRegister?.(app, api);
  await watches.space?.start();
  if (comparesSchemaFirst) await watches.schema.round();
  running.metricsListener = await openMetricsListener(config, metrics, log);
  await app.listen({ host: config.host, port: config.port }).catch((error: unknown) => {
    throw listenFailure(error, config);
  });
  const { port } = httpServer(app).address() as AddressInfo;
  return {
    address: { host: config.host, port },
    metricsPort: running.metricsListener?.port,
    compareTables: watches.evidence.round,
    verifyLogs: async () => {
      await watches.ledgers.round();
      await watches.traces.round();
    },
    compareSchema: watches.schema.round,
    close: () => stopParts(running),
  };
}

/** Stops all parts, in order. If some fail to stop, the others are stopped anyway, and the first error is thrown at the end. */
async function stopParts({ watches, checkpoints, app, metricsListener, bodyPreparer, nodes }: RunningParts): Promise<void> {
  const stops: (() => unknown)[] = [
    () => watches?.stop(),
    () => checkpoints?.stop(),
    () => app && closeApp(app),
    () => metricsListener?.close(),
    () => bodyPreparer.close(),
    () => nodes?.close(),
  ];
  const errors: unknown[] = [];
  for (const stop of stops) {
    try {
      await stop();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** The metrics, with the gauges that read the state of the server. */
function openMetrics(parts: {
  database: OpenDatabase;
  memory: MemoryLimits;
  watches: Watches;
  connections: Connections;
  bodyPreparer: BodyPreparer;
  metricsRenderMs: number | undefined;
}): Metrics {
  const { database, memory, watches, connections, bodyPreparer } = parts;
  const { broken } = requireSeals(database.pool);
  const metrics = new Metrics(
    {
      queuedBytes: () => memory.queue.usedBytes,
      bodyBytes: () => memory.reading.usedBytes,
      responseBytes: () => memory.answering.usedBytes,
      isClockUnsafe: () => database.clock.fault() !== undefined,
      refusedLogs: () => countRefusedLogs(database.pool),
      preparingBodies: () => bodyPreparer.length,
      preparedBodies: () => bodyPreparer.finishedCount,
      connections,
      brokenSeals: () => broken.counts,
      evidenceFindings: () => watches.evidence.findings.count,
      ledgerFindings: () => watches.ledgers.findings.count,
      traceFindings: () => watches.traces.findings.count,
      schemaFindings: () => watches.schema.count,
    },
    parts.metricsRenderMs,
  );
  if (watches.space !== undefined) metrics.watchSpace(watches.space);
  return metrics;
}

/** Accepts no more requests, waits up to STOP_TIMEOUT_MS for requests in progress, and then closes all connections. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const server = httpServer(app);
  const closed = app.close();
  // A connection whose response ends after `close` would stay open until its client closes it.
  const closingIdle = setInterval(() => server.closeIdleConnections(), 50);
  try {
    await Promise.race([closed, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  } finally {
    clearInterval(closingIdle);
    server.closeAllConnections();
  }
  await closed;
}
