import pg from 'pg';

/** How to reach a database: a URL, or the embedded one's socket. */
export type DatabaseAddress = { connectionString: string } | { host: string; port: number; user: string; database: string };

const { INT8 } = pg.types.builtins;

/** bigint columns hold at most 2^53-1 here (the contract bounds every one), so a number holds them exactly. */
pg.types.setTypeParser(INT8, Number);

/**
 * A pool of pipelined connections.
 * @param size most connections at once.
 */
export function openPool(address: DatabaseAddress, { size, name }: { size: number; name: string }): pg.Pool {
  const pool = new pg.Pool({
    ...address,
    max: size,
    application_name: `countersign-${name}`,
    connectionTimeoutMillis: 5_000,
    // A database that hangs must become a 503, not a request that never ends.
    query_timeout: 15_000,
    idleTimeoutMillis: 0,
    keepAlive: true,
    pipeline: true,
  } as pg.PoolConfig);
  // A connection that breaks is replaced by the pool, and its statements fail with the reason. Without listeners the errors that
  // are emitted besides would end the process: the pool emits those of idle connections, a connection in use its own.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    // Plans with the parameters left open, made once: planning the evidence of a promotion check anew takes three times its execution.
    client.query('SET plan_cache_mode = force_generic_plan').catch(() => undefined);
  });
  return pool;
}

/** Error classes of PostgreSQL that say "not now": connection lost, shutting down, out of resources. */
const AWAY_CLASSES = new Set(['08', '53', '57']);

/** COMMIT was sent and never answered: nobody may say that the work is kept, nor do it once more. */
export class OutcomeUnknownError extends Error {
  override name = 'OutcomeUnknownError';
}

/** Whether an error says that the database is away or stopping, rather than that the statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (error instanceof OutcomeUnknownError) return true;
  // Names of system errors first: EPIPE has five capitals, as an SQLSTATE may have.
  if (typeof code === 'string' && /^E(?!RR_)[A-Z_]+$/.test(code)) return true;
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return AWAY_CLASSES.has(code.slice(0, 2)) && code !== '57014';
  return /terminat|timeout|timed out|not queryable|closed|ended|Cannot use a pool/i.test(error.message);
}

/**
 * Errors that another try may not meet again: deadlock, serialization failure, a unique row that another node was first to insert, and
 * division by zero, by which a statement says that it did not find what it was told to (moveGuessedHead).
 */
const RETRYABLE = new Set(['40001', '40P01', '23505', '22012']);

/** Whether the same batch may succeed when it is tried again. */
export const isWorthRetrying = (error: unknown): boolean => RETRYABLE.has(String((error as { code?: unknown } | null)?.code));
