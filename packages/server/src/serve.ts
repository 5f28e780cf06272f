import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { keepCheckpoints } from './checkpoint-keeper.ts';
import { folderSink, requireSinkFolder } from './checkpoint-sink.ts';
import { watchClock } from './clock-watch.ts';
import { type Config, isLoopback } from './config.ts';
import { Admission } from './database/admission.ts';
import { describeFault } from './database/clock.ts';
import { defaultFloor, FreeSpace, spaceOf } from './database/free-space.ts';
import { requireSeals } from './database/seals.ts';
import { watchEvidence } from './evidence-watch.ts';
import { keepHouse } from './housekeeping.ts';
import { buildApp } from './http/app.ts';
import { Authenticator } from './http/authenticate.ts';
import { httpServer } from './http/bare-app.ts';
import { BodyWorkers } from './http/body-workers.ts';
import { type ConnectionLimits, Connections } from './http/connections.ts';
import { Metrics } from './http/metrics.ts';
import { metricsAccess } from './http/metrics-endpoint.ts';
import { Outgoing } from './http/outgoing.ts';
import type { PublicApi } from './http/public-api.ts';
import { RateLimit } from './http/rate-limit.ts';
import { countRefusedLogs, remembersBeyond } from './ledger/head-memory.ts';
import { checkAddress, listenFailure } from './listening.ts';
import { type MetricsListener, metricsAddress, openMetricsListener } from './metrics-listener.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import { openHouse } from './open-house.ts';
import { openPortal } from './open-portal.ts';
import { openReader } from './open-reader.ts';
import { setUpLink } from './people/one-time-links.ts';
import { PAGES_FOLDER, readBuiltPages } from './portal/built-pages.ts';
import { registerPages } from './portal/pages.ts';
import { registerPortalApi } from './portal/portal-api.ts';
import { allowedHosts, isPublic, publicAddress } from './public-address.ts';
import { databaseReadiness } from './readiness.ts';
import { RunIdMerging } from './run-id-merging.ts';
import { watchSchema } from './schema-watch.ts';
import { serverLog } from './server-log.ts';
import { removeSetUpLink, writeSetUpLink } from './set-up-link-file.ts';
import { isBoundByNothing } from './storage/own-role.ts';
import { markSigning } from './storage/signing-keys.ts';
import { listTenants } from './storage/tenants.ts';
import { welcome } from './welcome.ts';
import { workspaceArgument } from './workspace/find-workspace.ts';

const SUPERUSER =
  'the role of DATABASE_URL is a superuser or has BYPASSRLS: row-level security does not hold it; give the server a role of its own';

/** How long requests under way may take to end once the server is told to stop. */
const STOP_PATIENCE_MS = 5_000;

/** After this the process ends, whatever still keeps it: ten seconds are promised. */
const STOP_LIMIT_MS = 9_000;

/**
 * Runs the server until it is told to stop: SIGTERM or SIGINT stops accepting, finishes what was taken, closes the database
 * (and stops the embedded one) and returns 0. Throws an ExitError when it cannot start.
 */
export async function serve(config: Config): Promise<number> {
  const log = serverLog(config.logLevel);
  const stop = stopSignal();
  for (const variable of config.unknownVariables) log.warn({ variable }, 'no such variable; --help names those there are');
  if (config.checkpointDir !== undefined) requireSinkFolder(config.checkpointDir);
  await checkAddress(config);
  if (config.metricsPort !== undefined) await checkAddress(metricsAddress(config.metricsPort));
  const database = await openDatabase(config, (line) => log.info(line), 'set-up');
  try {
    if (config.databaseUrl !== undefined && (await isBoundByNothing(database.pool))) log.warn(SUPERUSER);
    const running = await start(config, database, log);
    try {
      await markSigning(
        database.ledgerPool,
        database.signer.keys.map(({ keyid }) => keyid),
      );
      const setUp = await announceSetUp(config, database, running.address.port);
      const workspace = workspaceArgument(await listTenants(database.ledgerPool));
      const { port } = running.address;
      process.stderr.write(welcome({ port, where: database.where, config, setUp, workspace }));
      log.info({ ...running.address, metricsPort: running.metricsPort, data: database.where }, 'ready');
      await stop;
      log.info('stopping');
      endAtTheLatest(log);
    } finally {
      await running.close();
    }
  } finally {
    await database.close();
  }
  log.info('stopped');
  return 0;
}

/**
 * Makes the set-up link while nobody is set up, and says where a person finds it: on the terminal, or in a file beside the embedded database.
 * With an outside database and no terminal no link is made: `workspace create` prints one.
 */
async function announceSetUp(config: Config, { pool, embeddedIn }: OpenDatabase, port: number): Promise<string | undefined> {
  const isTerminal = process.stderr.isTTY === true;
  if (!isTerminal && embeddedIn === undefined) return undefined;
  const link = await setUpLink(pool);
  if (embeddedIn !== undefined) removeSetUpLink(embeddedIn);
  if (link === undefined) return undefined;
  const { origin, caution } = publicAddress(config, port);
  const address = `${origin}${link.path}`;
  const note = caution === undefined ? '' : `\n    (${caution})`;
  if (isTerminal) return `Set up the portal, by this link that works once, for 72 hours:\n    ${address}${note}`;
  return `Set up the portal, by the link in ${writeSetUpLink(embeddedIn!, address)}, which works once, for 72 hours${note}`;
}

/**
 * Ends the process when something keeps it: a database that hangs, which would be waited for without end. The embedded one is
 * stopped all the same, by its keeper. What was acknowledged is committed, so this is no failure.
 */
function endAtTheLatest(log: Logger): void {
  const end = () => {
    log.warn('the database does not let go; ending without it');
    process.exit(0);
  };
  setTimeout(end, STOP_LIMIT_MS).unref();
}

/** Resolves at the first SIGTERM or SIGINT. A second one does not skip the orderly stop. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
  });
}

/** A server that is listening. */
export interface Running {
  address: { host: string; port: number };
  /** Where /metrics has a port of its own. */
  metricsPort: number | undefined;
  /** Compares the tables of every workspace with its log of evidence now. */
  compareTables(): Promise<void>;
  /** Compares the schema of the database with that of the migrations now. */
  compareSchema(): Promise<void>;
  /** Stops accepting, waits for the requests under way, and closes the connections. */
  close(): Promise<void>;
}

/** What tests and `bench/` set for a server, and operators do not. */
export interface StartOptions {
  /** Registers routes besides the product's own, on the same parts: `bench/` measures the product against them. */
  alsoRegister?: (app: FastifyInstance, api: PublicApi) => void;
  /** How old the text of /metrics may be. */
  metricsRenderMs?: number;
  /** Prepares large bodies. */
  workers?: BodyWorkers;
}

/** Puts the parts together and listens. The composition root: everything is made here and handed in. */
export async function start(
  config: Config,
  database: OpenDatabase,
  log: Logger,
  { alsoRegister, metricsRenderMs, workers = new BodyWorkers() }: StartOptions = {},
): Promise<Running> {
  const queue = new Admission(config.queueBytesMax);
  const reading = new Admission(config.readingBytesMax);
  const { clock } = database;
  const { broken } = requireSeals(database.pool);
  broken.listen((row) =>
    log.error(row, 'somebody else than the server has changed this row in the database: it is not believed'),
  );
  const evidenceWatch = watchEvidence(database, log);
  const schemaWatch = watchSchema(database, log);
  const isClockUnsafe = () => clock.fault() !== undefined;
  const answering = new Admission(config.answeringBytesMax);
  const outgoing = new Outgoing(answering);
  const connections = new Connections(connectionLimits(config));
  const metrics = new Metrics(
    {
      queued: () => queue.used,
      reading: () => reading.used,
      answering: () => answering.used,
      isClockUnsafe,
      refusedLogs: () => countRefusedLogs(database.pool),
      preparing: () => workers.length,
      prepared: () => workers.done,
      connections,
      brokenSeals: () => broken.counts,
      evidenceFindings: () => evidenceWatch.findings.count,
      schemaFindings: () => schemaWatch.count,
    },
    metricsRenderMs,
  );
  const space = watchedSpace(config, database, log);
  if (space !== undefined) metrics.watchSpace(space);
  const runIds = new RunIdMerging(database.ledgerPool, log);
  const house = openHouse({ database, queue, metrics, connections: config.databaseConnections, runIds });
  const api: PublicApi = {
    house,
    authenticator: new Authenticator(database.lookupPool),
    space,
    rateLimit: config.rateLimitPerMinute === undefined ? undefined : new RateLimit(config.rateLimitPerMinute),
    reading,
    bytesMax: { report: config.reportBytesMax, record: config.recordBytesMax },
    workers,
  };
  const checkpoints = keepCheckpoints(database, {
    everySeconds: config.checkpointSeconds,
    sink: config.checkpointDir === undefined ? undefined : folderSink(config.checkpointDir),
    log,
  });
  const reader = openReader(database, checkpoints);
  const app = buildApp({
    api,
    portal: (into) => {
      const parts = openPortal(config, database, { reader, reading, space, outgoing, findings: evidenceWatch.findings });
      registerPortalApi(into, parts);
      registerPages(into, { files: readBuiltPages(PAGES_FOLDER), headers: parts.headers });
    },
    connections,
    ledger: { reader, outgoing, authenticator: api.authenticator, rateLimit: api.rateLimit },
    metrics,
    metricsAccess: metricsAccess({ port: config.metricsPort, token: config.metricsToken, isPublic: isPublic(config) }),
    log,
    tls: config.tls,
    hosts: { names: allowedHosts(config), behindProxy: config.behindProxy },
    readiness: databaseReadiness(database),
    warnings: () => [
      ...warnings(database),
      ...(space?.isLow ? [`new records are refused: ${space.summary}`] : []),
      ...(broken.summary === undefined ? [] : [broken.summary]),
      ...(evidenceWatch.findings.summary === undefined ? [] : [evidenceWatch.findings.summary]),
      ...(schemaWatch.summary === undefined ? [] : [schemaWatch.summary]),
    ],
  });
  alsoRegister?.(app, api);
  const housekeeping = keepHouse(database, runIds, log);
  const clockWatch = watchClock(database, log);
  await space?.start();
  await schemaWatch.round();
  const stopWatching = () => {
    space?.stop();
    housekeeping.stop();
    runIds.stop();
    clockWatch.stop();
    evidenceWatch.stop();
    schemaWatch.stop();
    checkpoints.stop();
  };
  let metricsListener: MetricsListener | undefined;
  try {
    metricsListener = await openMetricsListener(config, metrics, log);
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    stopWatching();
    await metricsListener?.close();
    throw listenFailure(error, config);
  }
  const { port } = httpServer(app).address() as AddressInfo;
  return {
    address: { host: config.host, port },
    metricsPort: metricsListener?.port,
    compareTables: evidenceWatch.round,
    compareSchema: schemaWatch.round,
    close: async () => {
      stopWatching();
      const server = httpServer(app);
      const closed = app.close();
      // Those that are answered from now on would stay open for as long as their client likes.
      const closingIdle = setInterval(() => server.closeIdleConnections(), 50);
      await Promise.race([closed, sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
      clearInterval(closingIdle);
      server.closeAllConnections();
      await closed;
      await metricsListener?.close();
      await workers.close();
    },
  };
}

/** What a ready server cannot do at the moment, in words. */
function warnings({ clock, pool }: OpenDatabase): string[] {
  const fault = clock.fault();
  const refused = countRefusedLogs(pool);
  return [
    ...(fault === undefined ? [] : [`clock unsafe: ${describeFault(fault)}`]),
    ...(remembersBeyond(pool)
      ? []
      : ['no memory of logs: an older state restored while no server runs is not noticed; set COUNTERSIGN_MEMORY_DIR']),
    ...(refused === 0
      ? []
      : [`logs refused: ${refused} (changed by somebody else than the server); \`ledger verify\` says where, the log which`]),
  ];
}

/** Watches the disk of the embedded database; an outside one has its own operator. */
function watchedSpace(config: Config, { embeddedIn }: OpenDatabase, log: Logger): FreeSpace | undefined {
  if (embeddedIn === undefined) return undefined;
  return new FreeSpace({
    probe: () => spaceOf(embeddedIn),
    floorOf: (total) => config.freeSpaceMinBytes ?? defaultFloor(total, config.readingBytesMax + config.queueBytesMax),
    changed: ({ isLow, freeBytes, floorBytes }) => {
      if (isLow) log.warn({ freeBytes, floorBytes }, 'the disk of the database is nearly full: new records are refused');
      else log.info({ freeBytes, floorBytes }, 'the disk of the database has space again: new records are accepted');
    },
  });
}

/** Connections from one address, where no bound is configured. */
const PER_ADDRESS_MAX = 1024;

function connectionLimits(config: Config): ConnectionLimits {
  const allFromOneAddress = config.behindProxy || isLoopback(config.host);
  return {
    connectionsMax: config.connectionsMax,
    perAddressMax: config.connectionsPerAddressMax ?? (allFromOneAddress ? undefined : PER_ADDRESS_MAX),
    sendTimeoutMs: config.sendTimeoutSeconds * 1000,
  };
}
