import pg from 'pg';
import { FairTurns } from './fair-turns.ts';

/** How to reach a database: a URL, or the embedded one's socket. */
export type DatabaseAddress = { connectionString: string } | { host: string; port: number; user: string; database: string };

const { INT8 } = pg.types.builtins;

/** bigint columns hold at most 2^53-1 here (the contract bounds every one), so a number holds them exactly. */
pg.types.setTypeParser(INT8, Number);

/** A database that hangs must become a 503, not a request that never ends. */
const GIVE_UP_MS = 15_000;

/**
 * What a connection is set to before anything else is sent on it.
 *
 * - Plans with the parameters left open, made once: planning the evidence of a promotion check anew takes three times its execution.
 * - The database gives up before we do. A connection that we have left would else go on waiting for its lock, one more a try, until there
 *   are no more connections for anybody.
 * - Whoever stands still inside a transaction, because its process hangs or its network is cut, loses it, with the locks that a tenant
 *   waits for.
 * - Whatever the role is set to: what is acknowledged is on the disk, and a transaction sees what was committed before each statement.
 */
const SETTINGS = `SET plan_cache_mode = force_generic_plan; SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SET lock_timeout = ${GIVE_UP_MS - 3000};
  SET statement_timeout = ${GIVE_UP_MS - 1000}; SET idle_in_transaction_session_timeout = ${GIVE_UP_MS - 5000}`;

/** Whether the other end is still there is asked while a statement runs; not every system can. */
const CHECK_CLIENT = 'SET client_connection_check_interval = 5000';

/**
 * A pool of pipelined connections.
 * @param size most connections at once.
 */
export const openPool = (address: DatabaseAddress, size: PoolSize): pg.Pool => kept(new pg.Pool(poolConfig(address, size)));

/** The same, shared fairly between tenants: for reads, which anybody may send as many of as they like. */
export const openFairPool = (address: DatabaseAddress, size: PoolSize): FairPool =>
  kept(new FairPool(poolConfig(address, size), new FairTurns({ size: size.size, ...FAIR_WAIT })));

interface PoolSize {
  size: number;
  name: string;
}

/** Reads that may wait for a connection, those of one tenant and all, and how long. Pages ask for up to six things at once. */
const FAIR_WAIT = { waitingOfOneMax: 128, waitingMax: 1024, waitMs: 10_000 };

/** A pool whose transactions wait for the turn of their tenant before they ask for a connection (transaction.ts). */
export class FairPool extends pg.Pool {
  readonly turns: FairTurns;

  constructor(config: pg.PoolConfig, turns: FairTurns) {
    super(config);
    this.turns = turns;
  }
}

const poolConfig = (address: DatabaseAddress, { size, name }: PoolSize): pg.PoolConfig =>
  ({
    ...address,
    max: size,
    application_name: `countersign-${name}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: GIVE_UP_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    pipeline: true,
  }) as pg.PoolConfig;

function kept<P extends pg.Pool>(pool: P): P {
  // A connection that breaks is replaced by the pool, and its statements fail with the reason. Without listeners the errors that
  // are emitted besides would end the process: the pool emits those of idle connections, a connection in use its own.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    for (const settings of [SETTINGS, CHECK_CLIENT]) client.query(settings).catch(() => undefined);
  });
  return pool;
}

/** Error classes of PostgreSQL that say "not now": connection lost, out of resources, shutting down or a statement given up. */
const AWAY_CLASSES = new Set(['08', '53', '57']);

/** And single codes: a server that takes no writes (any more), a transaction that stood still, a lock that was waited for too long. */
const AWAY_CODES = new Set(['25006', '25P03', '55P03']);

/** What Node calls an encrypted connection that cannot be made. */
const TLS_CODE = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Errors of the driver, which have no code: whole messages, because a fault of ours may hold the same words. */
const AWAY_MESSAGE =
  /^(Connection terminated( unexpectedly| due to connection timeout)?|Query read timeout|timeout (expired|exceeded when trying to connect)|Client (has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end on the pool|There was an error establishing an SSL connection)$/;

/** COMMIT was sent and never answered: nobody may say that the work is kept, nor do it once more. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** Whether an error says that the database is away or stopping, rather than that the statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (error instanceof OutcomeUnknownError) return true;
  if (typeof code !== 'string') return AWAY_MESSAGE.test(error.message);
  // Names of system errors first: EPIPE has five capitals, as an SQLSTATE may have.
  if (/^E(?!RR_)[A-Z_]+$/.test(code) || TLS_CODE.test(code)) return true;
  return /^[0-9A-Z]{5}$/.test(code) && (AWAY_CLASSES.has(code.slice(0, 2)) || AWAY_CODES.has(code));
}

/**
 * Errors that another try may not meet again: deadlock, serialization failure, a unique row that another node was first to insert, and
 * division by zero, by which a statement says that it did not find what it was told to (moveGuessedHead).
 */
const RETRYABLE = new Set(['40001', '40P01', '23505', '22012']);

/** Whether the same batch may succeed when it is tried again. */
export const isWorthRetrying = (error: unknown): boolean => RETRYABLE.has(String((error as { code?: unknown } | null)?.code));

/** Whether a statement did not find the head of a log where it was guessed to be (moveGuessedHead). */
export const isWrongGuess = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '22012';
