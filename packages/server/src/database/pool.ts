import pg from 'pg';
import { detectCitus } from './citus-connections.ts';
import { FairTurns } from './fair-turns.ts';
import { GENERIC_PLANS } from './planner.ts';

/** The address of a database: a URL, or the socket of the embedded one. */
export type DatabaseAddress = { connectionString: string } | { host: string; port: number; user: string; database: string };

const { INT8 } = pg.types.builtins;

/** The contract limits bigint columns to 2^53-1, so a number holds them exactly. */
pg.types.setTypeParser(INT8, Number);

/** The longest wait for the response to a statement, so that a hanging database causes a 503. */
const RESPONSE_TIMEOUT_MS = 15_000;

/**
 * The settings of a connection, sent before anything else.
 *
 * - Generic plans (planner.ts). With Citus the settings of citus-connections.ts follow.
 * - No compilation of plans: it took 16 ms of the 17 ms of a list.
 * - The database times out before we do. A connection that we have abandoned would otherwise keep waiting for its lock, one more for each
 *   retry, until no connections are left.
 * - A transaction that stops, because its process hangs or its network is down, is ended, so that it releases the locks of its tenant.
 * - Whatever the settings of the role are: acknowledged data is on disk, and a transaction sees what was committed before each statement.
 */
const SETTINGS = `${GENERIC_PLANS}; SET jit = off; SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SET lock_timeout = ${RESPONSE_TIMEOUT_MS - 3000};
  SET statement_timeout = ${RESPONSE_TIMEOUT_MS - 1000}; SET idle_in_transaction_session_timeout = ${RESPONSE_TIMEOUT_MS - 5000}`;

/** Checks during a statement whether the client is still connected; not every system supports it. */
const CHECK_CLIENT = 'SET client_connection_check_interval = 5000';

/**
 * A pool of pipelined connections.
 * @param size the maximum number of connections, and the name of the pool.
 */
export const openPool = (address: DatabaseAddress, size: PoolSize): pg.Pool =>
  withErrorListeners(new pg.Pool(poolConfig(address, size)));

/** A pool for statements on the shards of one node of Citus. Citus does not plan them, so its settings are left out. */
export const openShardPool = (address: DatabaseAddress, size: PoolSize): pg.Pool =>
  withErrorListeners(new pg.Pool(poolConfig(address, size)), () => undefined);

/** A pool that is shared fairly between tenants: for reads, whose number is not limited. */
export const openFairPool = (address: DatabaseAddress, size: PoolSize): FairPool =>
  withErrorListeners(new FairPool(poolConfig(address, size), new FairTurns({ size: size.size, ...FAIR_WAIT })));

interface PoolSize {
  size: number;
  name: string;
  /** The longest wait for a connection. Default: 5,000. */
  connectTimeoutMs?: number;
  /** The age at which a connection is replaced. Default: never. */
  lifetimeSeconds?: number;
}

/** The limits of waiting reads, of one tenant and of all, and the longest wait. Pages send up to six requests at once. */
const FAIR_WAIT = { waitingOfOneMax: 128, waitingMax: 1024, waitMs: 10_000 };

/** A pool whose transactions wait for the turn of their tenant before they request a connection (transaction.ts). */
export class FairPool extends pg.Pool {
  readonly turns: FairTurns;

  constructor(config: pg.PoolConfig, turns: FairTurns) {
    super(config);
    this.turns = turns;
  }
}

const poolConfig = (
  address: DatabaseAddress,
  { size, name, connectTimeoutMs = 5_000, lifetimeSeconds = 0 }: PoolSize,
): pg.PoolConfig =>
  ({
    ...address,
    max: size,
    application_name: `countersign-${name}`,
    connectionTimeoutMillis: connectTimeoutMs,
    maxLifetimeSeconds: lifetimeSeconds,
    query_timeout: RESPONSE_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    pipeline: true,
  }) as pg.PoolConfig;

function withErrorListeners<P extends pg.Pool>(pool: P, onConnected: typeof detectCitus = detectCitus): P {
  // The pool replaces a broken connection, and its statements fail with the reason. The listeners keep the additional error events of idle
  // connections (from the pool) and of used ones (from the connection) from ending the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    for (const settings of [SETTINGS, CHECK_CLIENT]) client.query(settings).catch(() => undefined);
    onConnected(pool, client);
  });
  return pool;
}

/** Error classes of PostgreSQL for "not now": connection lost, out of resources, shutting down, or statement canceled. */
const AWAY_CLASSES = new Set(['08', '53', '57']);

/** A deadlock and a serialization failure: nothing was stored, and a repetition may succeed. */
const CONFLICT_CODES = ['40001', '40P01'];

/**
 * Single codes of the same kind: a read-only server, an idle transaction that was ended, a lock timeout, a conflict with another
 * transaction.
 */
const AWAY_CODES = new Set(['25006', '25P03', '55P03', ...CONFLICT_CODES]);

/** Node's errors of a failed TLS connection. */
const TLS_CODE = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Errors of the driver without a code. Whole messages are compared, because other errors may contain the same words. */
const AWAY_MESSAGE =
  /^(Connection terminated( unexpectedly| due to connection timeout)?|Query read timeout|timeout (expired|exceeded when trying to connect)|Client (has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end on the pool|There was an error establishing an SSL connection)$/;

/** COMMIT was sent but there was no response, so the work must neither be acknowledged nor repeated. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** Whether an error means that the database is unavailable, and not that the statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (error instanceof OutcomeUnknownError) return true;
  if (typeof code !== 'string') return AWAY_MESSAGE.test(error.message);
  // System errors are tested first, because EPIPE has the form of an SQLSTATE.
  if (/^E(?!RR_)[A-Z_]+$/.test(code) || TLS_CODE.test(code)) return true;
  return /^[0-9A-Z]{5}$/.test(code) && (AWAY_CLASSES.has(code.slice(0, 2)) || AWAY_CODES.has(code));
}

/**
 * Errors after which a retry may succeed: deadlock, serialization failure, a unique row that another node has inserted first, and division
 * by zero, by which moveGuessedHead reports a wrong guess.
 */
const RETRYABLE = new Set([...CONFLICT_CODES, '23505', '22012']);

/** Whether the same batch may succeed in a retry. */
export const isWorthRetrying = (error: unknown): boolean => RETRYABLE.has(String((error as { code?: unknown } | null)?.code));

/** How often work is tried that conflicts with other transactions. */
const CONFLICT_TRIES = 3;

/**
 * Repeats work after a deadlock or a serialization failure. Its last transaction was rolled back; what it committed before must be harmless
 * if repeated.
 */
export async function repeatAfterConflict<T>(work: () => Promise<T>, tries = CONFLICT_TRIES): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (tries === 1 || !CONFLICT_CODES.includes(String((error as { code?: unknown } | null)?.code))) throw error;
    return repeatAfterConflict(work, tries - 1);
  }
}

/** Whether a statement did not find the head of a log where it was guessed to be (moveGuessedHead). */
export const isWrongGuess = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '22012';
