import { once } from 'node:events';
import type { Logger } from 'pino';
import { requireCheckpointFolder } from '../checkpoints/checkpoint-folder.ts';
import type { Config } from '../config/config.ts';
import { publicAddress } from '../config/public-address.ts';
import { createSetUpLink } from '../people/one-time-links.ts';
import { bypassesRowLevelSecurity } from '../storage/own-role.ts';
import { markSigning } from '../storage/signing-keys.ts';
import { listTenants } from '../storage/tenants.ts';
import { workspaceArgument } from '../workspace/find-workspace.ts';
import { checkAddress } from './listen-address.ts';
import { metricsAddress } from './metrics-listener.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import { ownCommand } from './own-command.ts';
import { serverLog } from './server-log.ts';
import { removeSetUpLink, writeSetUpLink } from './set-up-link-file.ts';
import { startServer } from './start-server.ts';
import { welcome } from './welcome.ts';

const SUPERUSER_WARNING =
  'the role of DATABASE_URL is a superuser or has BYPASSRLS, so row-level security does not apply to it; connect as another role';

/** The longest time from a stop signal to the end of the process. docs/container.md promises a stop within ten seconds. */
const STOP_LIMIT_MS = 9_000;

/**
 * Runs the server until SIGTERM or SIGINT. Then it accepts no more requests, waits up to five seconds for requests in progress, and closes
 * the database. It stops the embedded database unless another process uses it. A signal while the database is opened ends the server before
 * it listens. Returns the exit status 0.
 * @param options.json if true, no text for people is written to stderr.
 * @throws an error, in most cases an ExitError, if it cannot start.
 */
export async function serve(config: Config, { json }: { json: boolean }): Promise<number> {
  const log = serverLog(config.logLevel);
  const stop = stopSignal(log);
  for (const variable of config.unknownVariables) log.warn({ variable }, 'unknown variable; --help lists the known variables');
  if (config.checkpointDir !== undefined) requireCheckpointFolder(config.checkpointDir);
  await checkAddress(config);
  if (config.metricsPort !== undefined) await checkAddress(metricsAddress(config.metricsPort));
  const database = await openDatabase(config, (line) => log.info(line), 'set-up');
  try {
    if (!stop.aborted) await runServer(config, database, { log, stop, json });
  } finally {
    await database.close();
  }
  log.info('stopped');
  return 0;
}

/** Runs the server until `stop` is aborted. */
async function runServer(
  config: Config,
  database: OpenDatabase,
  { log, stop, json }: { log: Logger; stop: AbortSignal; json: boolean },
): Promise<void> {
  if (config.databaseUrl !== undefined && (await bypassesRowLevelSecurity(database.pool))) log.warn(SUPERUSER_WARNING);
  const running = await startServer(config, database, log);
  try {
    await markSigning(
      database.ledgerPool,
      database.signer.keys.map(({ keyid }) => keyid),
    );
    const { port } = running.address;
    const setUp = await createSetUpText(config, database, { port, isTerminal: !json && process.stderr.isTTY === true });
    const [first, ...others] = await listTenants(database.ledgerPool);
    const workspace = first === undefined ? undefined : workspaceArgument([first, ...others]);
    if (!json) process.stderr.write(welcome({ port, where: database.where, config, setUp, workspace, command: ownCommand }));
    log.info({ ...running.address, metricsPort: running.metricsPort, data: database.where }, 'ready');
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await running.close();
  }
}

/**
 * Creates a set-up link if no person has a password yet. Returns the text for people: with the link if `isTerminal`, otherwise with the
 * path of its file in the data folder. With an external database and no terminal, no link is created: `workspace create` prints one.
 * Returns undefined if no link was created.
 * @param isTerminal whether people read stderr on a terminal.
 */
async function createSetUpText(
  config: Config,
  { pool, embeddedIn }: OpenDatabase,
  { port, isTerminal }: { port: number; isTerminal: boolean },
): Promise<string | undefined> {
  if (!isTerminal && embeddedIn === undefined) return undefined;
  const link = await createSetUpLink(pool);
  if (embeddedIn !== undefined) removeSetUpLink(embeddedIn);
  if (link === undefined) return undefined;
  const { origin, caution } = publicAddress(config, port);
  const address = `${origin}${link.path}`;
  const note = caution === undefined ? '' : `\n    (${caution})`;
  if (isTerminal) return `Set up the portal with this link, which works once, for 72 hours:\n    ${address}${note}`;
  return `Set up the portal with the link in ${writeSetUpLink(embeddedIn!, address)}, which works once, for 72 hours${note}`;
}

/**
 * Returns an AbortSignal that is aborted at the first SIGTERM or SIGINT, also during the start. Another SIGTERM or SIGINT changes nothing
 * until the process exits.
 */
function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  stop.signal.addEventListener('abort', () => {
    log.info('stopping');
    exitAfterTimeout(log);
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  return stop.signal;
}

/**
 * Ends the process if the stop takes too long, for example because the database hangs or a migration is running. The keeper still stops the
 * embedded database. Everything acknowledged is committed, and an unfinished migration is rolled back, so the exit status is 0.
 */
function exitAfterTimeout(log: Logger): void {
  const end = () => {
    log.warn('the database does not respond in time; ending without waiting for it');
    process.exit(0);
  };
  setTimeout(end, STOP_LIMIT_MS).unref();
}
