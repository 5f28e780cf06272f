import { statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAccessRules } from './access-rules.ts';
import { type Binaries, binariesFor } from './binaries.ts';
import { clusterExists, createCluster } from './cluster.ts';
import { clusterFolder, keeperFolder, logFile } from './data-folder.ts';
import { EmbeddedDatabaseError } from './embedded-database-error.ts';
import { Holders } from './holders.ts';
import { type KeeperPlace, takePlace } from './keeper-place.ts';
import type { KeeperOrders } from './lease-messages.ts';
import { isNewest } from './lease-register.ts';
import { boundLog, writeLogLine } from './log-file.ts';
import { endOrphan } from './orphan.ts';
import { Outage } from './outage.ts';
import { port, postgresArguments } from './postgres-settings.ts';
import { type Postmaster, startPostmaster } from './postmaster.ts';
import { makePostgresSocketFolder } from './socket-folder.ts';

/** How long a keeper that gave up stays to say why, to a holder that has not connected yet. */
const lastWordMs = 3_000;

/**
 * The keeper: one small process for each data folder, apart from every terminal. It starts PostgreSQL as its child, stops it when
 * nobody holds a lease any more, and starts it again when it dies. Its argument is a KeeperOrders as JSON.
 */
async function keep(orders: KeeperOrders): Promise<void> {
  process.umask(0o077);
  // It ends when nobody needs the database, not when a machine that shuts down signals everybody at once: then the server's
  // last writes still find it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const holders = new Holders();
  const place = await takePlace(orders.dataDir, holders.server);
  if (place === undefined) return;
  const boundingLog = setInterval(() => boundLog(logFile(orders.dataDir)), 60_000);
  try {
    boundLog(logFile(orders.dataDir));
    await serve(orders, place, holders);
  } catch (error) {
    const code = error instanceof EmbeddedDatabaseError ? error.code : 'start_failed';
    const message = error instanceof Error ? error.message : String(error);
    log(error instanceof EmbeddedDatabaseError ? message : `${error instanceof Error ? error.stack : error}`);
    holders.announce({ kind: 'failed', code, message });
    await Promise.race([holders.allGone(), sleep(lastWordMs, undefined, { ref: false })]);
  }
  clearInterval(boundingLog);
  holders.close();
  // A holder that does not read its end (stopped by a debugger) must not keep the keeper alive.
  setTimeout(() => process.exit(), lastWordMs).unref();
}

/** Runs PostgreSQL from the first holder to the last. */
async function serve(orders: KeeperOrders, place: KeeperPlace, holders: Holders): Promise<void> {
  const say = (line: string) => {
    log(line);
    holders.say(line);
  };
  const binaries = binariesFor(orders.account, orders.dataDir);
  const cluster = clusterFolder(orders.dataDir);
  if (!clusterExists(orders.dataDir, binaries)) {
    if (!orders.mayCreate)
      throw new EmbeddedDatabaseError('cluster_missing', `the database in ${cluster} is gone: restore it, then restart`);
    say(`creating the database in ${cluster}`);
    await createCluster(orders.dataDir, orders.account, binaries);
  }
  const host = makePostgresSocketFolder(place.socketFolder, orders.account);
  const outage = new Outage(logFile(orders.dataDir));
  // A new process may connect while PostgreSQL stops because its last client left: then it starts again.
  while (!holders.gone) {
    if (!isNewest(keeperFolder(orders.dataDir), place.registration)) return log('another keeper has taken over');
    const startedAt = Date.now();
    const how = await runPostgres(orders, binaries, host, holders, outage, say).catch((error: unknown) => {
      if (!outage.mayEnd) throw error;
      return error instanceof Error ? error.message : String(error);
    });
    if (how === undefined) continue;
    const { pauseMs, report } = outage.failed(how, startedAt);
    if (report !== undefined) say(report);
    if (outage.isLong) holders.refuseNewcomers({ kind: 'failed', code: 'start_failed', message: outage.message(how) });
    const patience = new AbortController();
    await Promise.race([holders.allGone(), sleep(pauseMs, undefined, patience).catch(() => {})]);
    patience.abort();
  }
}

/** Runs PostgreSQL once. Resolves with how it ended, or with undefined when it was stopped because nobody holds a lease. */
async function runPostgres(
  orders: KeeperOrders,
  binaries: Binaries,
  host: string,
  holders: Holders,
  outage: Outage,
  say: (line: string) => void,
): Promise<string | undefined> {
  await endOrphan(clusterFolder(orders.dataDir), host, say);
  const postmaster = start(orders, binaries, host);
  let wanted = true;
  void postmaster.ready.then((isReady) => {
    if (!isReady || !wanted) return;
    outage.mayEnd = true;
    holders.announce({ kind: 'ready', host, port });
  });
  // Looked at again each time: somebody may have come between the last one's leaving and now.
  while (!holders.gone && postmaster.isRunning()) await Promise.race([holders.allGone(), postmaster.ended]);
  wanted = false;
  if (!outage.isLong) holders.announce(undefined);
  if (!holders.gone) return postmaster.ended;
  await postmaster.stop();
  holders.dismissReleased();
  outage.over();
  return undefined;
}

function start(orders: KeeperOrders, binaries: Binaries, socketFolder: string): Postmaster {
  const cluster = clusterFolder(orders.dataDir);
  const rules = writeAccessRules(orders.dataDir, orders.account);
  return startPostmaster(
    binaries.postgres,
    postgresArguments(cluster, { socketFolder, ...rules }, diskBytes(cluster), orders.settings),
    cluster,
    orders.account,
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
  await keep(JSON.parse(process.argv[2] ?? '') as KeeperOrders);
} catch (error) {
  // Before it could listen: whoever started it reads this at the end of the log.
  log(`cannot start: ${error instanceof EmbeddedDatabaseError ? error.message : error instanceof Error ? error.stack : error}`);
  // The socket is open already when the registration fails. With `exitCode` alone it would keep this process for ever, unreachable.
  process.exit(1);
}
