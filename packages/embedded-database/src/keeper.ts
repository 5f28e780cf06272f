import { statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAccessRules } from './access-rules.ts';
import { type Binaries, binariesFor } from './binaries.ts';
import { clusterExists, createCluster } from './cluster.ts';
import { clusterFolder, keeperFolder, logFile } from './data-folder.ts';
import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { KeeperClients } from './keeper-clients.ts';
import { type RegisteredKeeper, registerKeeper } from './keeper-registration.ts';
import { isNewest } from './keeper-registry.ts';
import type { KeeperConfiguration } from './lease-messages.ts';
import { limitLogSize, writeLogLine } from './log-file.ts';
import { stopOrphanedPostgres } from './orphaned-postgres.ts';
import { port, postgresArguments } from './postgres-settings.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { RestartPolicy } from './restart-policy.ts';
import { makePostgresSocketFolder } from './socket-folder.ts';

/** How long a failed keeper waits for its clients to receive the failure, and how long any keeper may take to exit. */
const failureNoticeMs = 3_000;

/**
 * Runs the keeper: one process for each data folder, detached from every terminal. The keeper starts PostgreSQL as its child, restarts it
 * when it dies, and stops it when the last lease is released. The argument of the process is a KeeperConfiguration as JSON.
 */
async function runKeeper(configuration: KeeperConfiguration): Promise<void> {
  process.umask(0o077);
  // A machine that shuts down signals every process at once. The keeper runs until the last lease ends, so that servers can finish writing.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const clients = new KeeperClients();
  const keeper = await registerKeeper(configuration.dataDir, clients.server);
  if (keeper === undefined) return;
  const logTimer = setInterval(() => limitLogSize(logFile(configuration.dataDir)), 60_000);
  try {
    limitLogSize(logFile(configuration.dataDir));
    await supervise(configuration, keeper, clients);
  } catch (error) {
    const code = error instanceof EmbeddedDatabaseError ? error.code : 'start_failed';
    const message = error instanceof Error ? error.message : String(error);
    log(error instanceof EmbeddedDatabaseError ? message : `${error instanceof Error ? error.stack : error}`);
    clients.setState({ kind: 'failed', code, message });
    await Promise.race([clients.waitUntilIdle(), sleep(failureNoticeMs, undefined, { ref: false })]);
  }
  clearInterval(logTimer);
  clients.close();
  // A client that does not read (stopped by a debugger) must not keep the keeper alive.
  setTimeout(() => process.exit(), failureNoticeMs).unref();
}

/** Creates the cluster if it is missing. Then runs PostgreSQL until no lease is left, or until another keeper has taken over. */
async function supervise(configuration: KeeperConfiguration, keeper: RegisteredKeeper, clients: KeeperClients): Promise<void> {
  const notify = (line: string) => {
    log(line);
    clients.notify(line);
  };
  const binaries = binariesFor(configuration.account, configuration.dataDir);
  const cluster = clusterFolder(configuration.dataDir);
  if (!clusterExists(configuration.dataDir, binaries)) {
    if (!configuration.mayCreate)
      throw new EmbeddedDatabaseError(
        'cluster_missing',
        `the folder ${cluster} of the database is missing: restore it, then try again`,
      );
    notify(`creating the database in ${cluster}`);
    await createCluster(configuration.dataDir, configuration.account, binaries);
  }
  const host = makePostgresSocketFolder(keeper.socketFolder, configuration.account);
  const restarts = new RestartPolicy(logFile(configuration.dataDir));
  // If a new client connects while PostgreSQL stops after the last release, PostgreSQL is started again.
  while (!clients.isIdle) {
    if (!isNewest(keeperFolder(configuration.dataDir), keeper.registration)) return log('another keeper has taken over');
    const startedAt = Date.now();
    const ending = await runPostgres(configuration, binaries, host, clients, restarts, notify).catch((error: unknown) => {
      if (!restarts.hasBeenReady) throw error;
      return error instanceof Error ? error.message : String(error);
    });
    if (ending === undefined) continue;
    const { pauseMs, report } = restarts.recordFailure(ending, startedAt);
    if (report !== undefined) notify(report);
    if (restarts.isProlonged)
      clients.setStateOfNewClients({ kind: 'failed', code: 'start_failed', message: restarts.describe(ending) });
    const timeout = new AbortController();
    await Promise.race([clients.waitUntilIdle(), sleep(pauseMs, undefined, timeout).catch(() => {})]);
    timeout.abort();
  }
}

/**
 * Runs PostgreSQL once. Resolves with the result of `Postmaster.ended`, or with undefined if PostgreSQL was stopped after the last release.
 */
async function runPostgres(
  configuration: KeeperConfiguration,
  binaries: Binaries,
  host: string,
  clients: KeeperClients,
  restarts: RestartPolicy,
  notify: (line: string) => void,
): Promise<string | undefined> {
  await stopOrphanedPostgres(clusterFolder(configuration.dataDir), host, notify);
  const postmaster = startPostgres(configuration, binaries, host);
  let isNeeded = true;
  let wasReady = false;
  void postmaster.ready.then((isReady) => {
    if (!isReady || !isNeeded) return;
    wasReady = true;
    restarts.recordReady();
    clients.setState({ kind: 'ready', host, port });
  });
  // The condition is checked again after each event, because a new client may have connected since the last client left.
  while (!clients.isIdle && postmaster.isRunning()) await Promise.race([clients.waitUntilIdle(), postmaster.ended]);
  isNeeded = false;
  // If PostgreSQL did not become ready in a prolonged outage, new clients still receive the failure.
  if (wasReady || !restarts.isProlonged) clients.setState(undefined);
  if (!clients.isIdle) return postmaster.ended;
  await postmaster.stop();
  clients.closeReleasedConnections();
  restarts.reset();
  return undefined;
}

function startPostgres(configuration: KeeperConfiguration, binaries: Binaries, socketFolder: string): Postmaster {
  const cluster = clusterFolder(configuration.dataDir);
  const rules = writeAccessRules(configuration.dataDir, configuration.account);
  return startPostmaster(
    binaries.postgres,
    postgresArguments(cluster, { socketFolder, ...rules }, diskBytes(cluster), configuration.settings),
    cluster,
    configuration.account,
  );
}

function diskBytes(folder: string): number {
  const { blocks, bsize } = statfsSync(folder);
  return blocks * bsize;
}

function log(line: string): void {
  writeLogLine(`${new Date().toISOString()} [${process.pid}] keeper: ${line}`);
}

try {
  await runKeeper(JSON.parse(process.argv[2] ?? '') as KeeperConfiguration);
} catch (error) {
  // The keeper failed before it was registered, so it reports to no client. The process that started it reads the end of the log.
  log(`cannot start: ${error instanceof EmbeddedDatabaseError ? error.message : error instanceof Error ? error.stack : error}`);
  // With `exitCode` alone, an open socket would keep this process alive, although no client could find the process.
  process.exit(1);
}
