import pg from 'pg';
import { detectCitus } from './citus-connections.ts';
import { type DatabaseAddress, driverAddress } from './driver-address.ts';
import { FairTurns } from './fair-turns.ts';
import { GENERIC_PLANS } from './planner.ts';
import { NO_TRANSACTION_TIMEOUT, STATEMENT_SETTINGS } from './statement-settings.ts';

const { INT8 } = pg.types.builtins;

/** The contract limits the values of bigint columns to 2^53-1, so a number represents them exactly. */
pg.types.setTypeParser(INT8, Number);

/** The longest wait for the response to a statement, so that a hanging database causes a 503. */
const RESPONSE_TIMEOUT_MS = 15_000;

/**
 * The settings of a connection, sent before anything else.
 *
 * - Generic plans (planner.ts). With Citus the settings of citus-connections.ts follow.
 * - The settings on which the meaning of statements depends (statement-settings.ts).
 * - No just-in-time compilation of plans: it took most of the time that a list of the portal needed.
 * - The timeouts of the database are shorter than RESPONSE_TIMEOUT_MS. Otherwise a connection that the server has closed would still wait
 *   for its lock. Each retry would add such a connection, until PostgreSQL accepts no more.
 * - An idle transaction, whose process hangs or whose network is down, is ended, so that it releases the locks of its tenant. With these
 *   timeouts, a whole transaction needs no limit.
 * - COMMIT waits until the data is on disk, and each statement sees what was committed before it, even if the role has other settings.
 */
const SETTINGS = `${GENERIC_PLANS}; ${STATEMENT_SETTINGS}; SET jit = off; SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SET lock_timeout = ${RESPONSE_TIMEOUT_MS - 3000};
  SET statement_timeout = ${RESPONSE_TIMEOUT_MS - 1000}; SET idle_in_transaction_session_timeout = ${RESPONSE_TIMEOUT_MS - 5000};
  ${NO_TRANSACTION_TIMEOUT}`;

/** Makes PostgreSQL check during a statement whether the client is still connected. Not every operating system supports it. */
const CHECK_CLIENT = 'SET client_connection_check_interval = 5000';

/** A pool of pipelined connections. They send a statement without waiting for the responses to earlier ones. */
export const openPool = (address: DatabaseAddress, options: PoolOptions): pg.Pool =>
  withListeners(new pg.Pool(poolConfig(address, options)));

/**
 * A pool for statements on the shards of one node of Citus. PostgreSQL plans these statements without Citus, so the settings for Citus are
 * left out.
 */
export const openShardPool = (address: DatabaseAddress, options: PoolOptions): pg.Pool =>
  withListeners(new pg.Pool(poolConfig(address, options)), () => undefined);

/** A pool that is shared fairly between tenants (or people), for reads, sessions and maintenance. */
export const openFairPool = (address: DatabaseAddress, options: PoolOptions): FairPool =>
  withListeners(new FairPool(poolConfig(address, options), new FairTurns({ size: options.size, ...FAIR_WAIT })));

interface PoolOptions {
  /** The maximum number of connections. */
  size: number;
  /** The name of the pool, for `pg_stat_activity`. */
  name: string;
  /** The longest wait for a connection. Default: 5,000. */
  connectTimeoutMs?: number;
  /** The age at which a connection is replaced. Default: never. */
  lifetimeSeconds?: number;
}

/**
 * The limits of waiting transactions, of one tenant or person and in total, and the longest wait. Pages send up to six requests at once.
 */
const FAIR_WAIT = { waitingOfOneMax: 128, waitingMax: 1024, waitMs: 10_000 };

/** A pool whose transactions wait for the turn of their tenant or person before they request a connection (transaction.ts). */
export class FairPool extends pg.Pool {
  readonly turns: FairTurns;

  constructor(config: pg.PoolConfig, turns: FairTurns) {
    super(config);
    this.turns = turns;
  }
}

const poolConfig = (
  address: DatabaseAddress,
  { size, name, connectTimeoutMs = 5_000, lifetimeSeconds = 0 }: PoolOptions,
): pg.PoolConfig =>
  ({
    ...driverAddress(address),
    max: size,
    application_name: `countersign-${name}`,
    connectionTimeoutMillis: connectTimeoutMs,
    maxLifetimeSeconds: lifetimeSeconds,
    query_timeout: RESPONSE_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    pipeline: true,
  }) as pg.PoolConfig;

function withListeners<P extends pg.Pool>(pool: P, onConnected: typeof detectCitus = detectCitus): P {
  // The pool replaces a broken connection, and the statements on that connection fail with the reason. An error event is emitted too: by
  // the pool for an idle connection, by the connection for a used one. Without a listener, it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    for (const settings of [SETTINGS, CHECK_CLIENT]) client.query(settings).catch(() => undefined);
    onConnected(pool, client);
  });
  return pool;
}

/**
 * Error classes of PostgreSQL for temporary failures: connection lost, login rejected, database not found, out of resources, shutting down,
 * or statement canceled.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '28', '3D', '53', '57']);

/** A deadlock and a serialization failure: nothing was stored, and a repetition may succeed. */
const CONFLICT_CODES = ['40001', '40P01'];

/**
 * Codes of temporary failures in other classes: a read-only server, an idle or long transaction that was ended, a lock timeout, a conflict
 * with another transaction.
 */
const UNAVAILABLE_CODES = new Set(['25006', '25P03', '25P04', '55P03', ...CONFLICT_CODES]);

/** The codes of Node.js for a failed TLS connection. */
const TLS_CODE = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Errors of the driver without a code. Whole messages are compared, because other errors may contain the same words. */
const UNAVAILABLE_MESSAGE =
  /^(Connection terminated( unexpectedly| due to connection timeout)?|Query read timeout|timeout (expired|exceeded when trying to connect)|Client (has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end on the pool|There was an error establishing an SSL connection)$/;

/**
 * It is unknown whether the work took effect: the response to COMMIT is missing, or a node of Citus has not applied the change yet
 * (ledger/await-key-event.ts). The work must neither be acknowledged nor repeated.
 */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** Whether an error means that the database is unavailable, and not that the statement is wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  // With an error of severity FATAL, PostgreSQL ends a connection or rejects a new one.
  if (error instanceof OutcomeUnknownError || severity === 'FATAL') return true;
  if (typeof code !== 'string') return UNAVAILABLE_MESSAGE.test(error.message);
  // System errors are tested first, because EPIPE has the form of an SQLSTATE.
  if (/^E(?!RR_)[A-Z_]+$/.test(code) || TLS_CODE.test(code)) return true;
  return /^[0-9A-Z]{5}$/.test(code) && (UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE_CODES.has(code));
}

/**
 * Whether a statement failed because the session is read-only. A session keeps the `default_transaction_read_only` that it started with, so
 * its connection must not be used again.
 */
export const isReadOnlyError = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '25006';

/**
 * Errors after which a retry may succeed: deadlock, serialization failure, and a row with the same unique key that another batch has
 * inserted first. Also division by zero, by which some statements report a failed condition, such as a wrong guess in moveGuessedHead.
 */
const RETRYABLE = new Set([...CONFLICT_CODES, '23505', '22012']);

/** Whether the same batch may succeed in a retry. */
export const isWorthRetrying = (error: unknown): boolean => RETRYABLE.has(String((error as { code?: unknown } | null)?.code));

/** How often work is tried if it conflicts with other transactions. */
const CONFLICT_TRIES_MAX = 3;

/**
 * Repeats `work` after a deadlock or a serialization failure, up to `tries` times in total. Its last transaction was rolled back. If `work`
 * has committed earlier transactions, it must be safe to repeat them.
 */
export async function repeatAfterConflict<T>(work: () => Promise<T>, tries = CONFLICT_TRIES_MAX): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (tries === 1 || !CONFLICT_CODES.includes(String((error as { code?: unknown } | null)?.code))) throw error;
    return repeatAfterConflict(work, tries - 1);
  }
}

/**
 * Whether an error is a division by zero: the head of a log was not the guessed one (moveGuessedHead), not all rows were stored
 * (stored-rows.ts) or, on Citus, another condition failed.
 */
export const isDivisionByZero = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '22012';
