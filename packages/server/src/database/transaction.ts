import type { Writable } from 'node:stream';
import pg, { type Pool, type PoolClient } from 'pg';
import { hasCitus } from './citus-connections.ts';
import { needsRowOfTenant, REQUIRE_ROW_OF_TENANT, statementForCitus } from './citus-statements.ts';
import { type Clock, clockOf } from './clock.ts';
import { DISCARD_PLANS, mustPlanAgain, PLANS_FOR_VALUES } from './planner.ts';
import { FairPool, isDivisionByZero, isReadOnlyError, OutcomeUnknownError } from './pool.ts';
import { requireDefined, type Seals, sealsOf } from './seals.ts';
import { hasRowCountCheck, RowsNotStoredError } from './stored-rows.ts';

/** A statement. It is prepared once per connection under its name. A statement with an empty name is prepared for each use. */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never set. It only declares the type of a row. */
  readonly row?: Row;
}

/** Rewrites a statement before it is sent. Throws if the statement cannot be sent. */
export type RewriteStatement = <Row>(statement: Statement<Row>) => Statement<Row>;

/** Names a statement. Most functions of `storage/` have one statement. */
export const sql = <Row = Record<string, never>>(name: string, text: string): Statement<Row> => ({ name, text });

/** The statements of a transaction of any owner: a tenant or a person. */
export interface Statements {
  /** The clocks of this process and of the database. */
  readonly clock: Clock;
  /** The seals of the database. Throws if the pool was opened without the master secret. */
  readonly seals: Seals;
  /**
   * Sends a statement without waiting for the responses to earlier ones, and resolves with its rows. Rejects with the error of the first
   * statement that failed in the transaction.
   */
  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
  /** Sends a statement whose rows are not needed. If it fails, `commit` rejects. */
  send(statement: Statement<unknown>, values: readonly unknown[]): void;
  /**
   * Sends COMMIT without waiting for the responses to earlier statements, and resolves when it has succeeded. Rejects with the error of the
   * first failed statement, or with NotCommittedError. Called after `work`, unless `work` has called it.
   */
  commit(): Promise<void>;
  /** Runs `work` after a successful COMMIT, and not if COMMIT fails or its outcome is unknown. `work` must not throw. */
  afterCommit(work: () => void): void;
  /**
   * If the transaction fails, `replace` gets its error and returns the error to throw. It is not called if the outcome of COMMIT is
   * unknown. `replace` must not throw.
   */
  replaceError(replace: (error: unknown) => unknown): void;
}

/** One transaction of one tenant, which the storage functions use. */
export interface Transaction extends Statements {
  readonly tenantId: string;
}

/** One transaction of one person and of no tenant. It sees the person's memberships. */
export interface PersonTransaction extends Statements {
  readonly personId: string;
}

/**
 * Returns the promise of a statement, marked as one that may be awaited late or never. If the statement fails, an earlier statement or
 * COMMIT reports the error, so the rejection must not end the process as an unhandled one.
 */
export function ignoreRejection<T>(statement: Promise<T>): Promise<T> {
  statement.catch(() => undefined);
  return statement;
}

/** COMMIT returned ROLLBACK, although no statement has reported an error. */
export class NotCommittedError extends Error {
  override name = 'NotCommittedError';
}

const BEGIN = sql('BEGIN', 'BEGIN');
const BEGIN_READING = sql('begin_reading', 'BEGIN READ ONLY');
const BEGIN_SNAPSHOT = sql('begin_snapshot', 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
const PLAN_AGAIN = sql('discard_plans', DISCARD_PLANS);
const PLAN_FOR_VALUES = sql('plan_for_values', PLANS_FOR_VALUES);
const CHECK_ROW_OF_TENANT = sql('require_row_of_tenant', REQUIRE_ROW_OF_TENANT);
const COMMIT = sql('COMMIT', 'COMMIT');

/** Rewrites statements on a connection to a database with Citus. */
const rewriteForCitus: RewriteStatement = (statement) => {
  const text = statementForCitus(statement.text);
  return text === statement.text ? statement : { name: statement.name, text };
};

/** A UUID, or empty for no owner. */
const OWNER_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/i;

/**
 * Runs a transaction of one tenant, with row-level security, and commits it when `work` resolves. On any error it is rolled back. A
 * connection that is broken or read-only is not used again.
 * @throws OutcomeUnknownError if the response to COMMIT is missing.
 */
export const inTenantTransaction = <T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId, personId: '' }, work);

/**
 * Like inTenantTransaction, for a person whose membership is not known yet. On a FairPool it waits for a turn of the person, because anyone
 * can name any tenant.
 */
export const inTenantTransactionForPerson = <T>(
  pool: Pool,
  { tenantId, turnOf }: { tenantId: string; turnOf: string },
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => inTransaction(pool, { tenantId, personId: '', turnOf }, work);

/** Like inTenantTransaction, on a node of Citus. `rewrite` replaces the tables in the statements by their shards (shard-group.ts). */
export const inShardTransaction = <T>(
  pool: Pool,
  owner: { tenantId: string; rewrite: RewriteStatement },
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => inTransaction(pool, { ...owner, personId: '' }, work);

/** Like inTenantTransaction, for reading only: writes fail. Plans are made for the given values (planner.ts). */
export const inReadTransaction = <T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId, personId: '', readOnlyBegin: BEGIN_READING }, work);

/**
 * Like inReadTransaction, but all statements see the same state, so that no row disappears between two of them. `work` must not read the
 * head of a log. This process may have read a later head meanwhile, and would mistake the log for a restored one.
 */
export const inSnapshotTransaction = <T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId, personId: '', readOnlyBegin: BEGIN_SNAPSHOT }, work);

/** Like inTenantTransaction, for one person and no tenant. It sees the person's memberships in all workspaces. */
export const inPersonTransaction = <T>(pool: Pool, personId: string, work: (tx: PersonTransaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId: '', personId }, work);

/** The owner of a transaction, and how it runs. The owner is a tenant or a person; the other ID is empty. */
interface Scope {
  tenantId: string;
  personId: string;
  /** The person for whose turn the transaction waits. If undefined, the transaction waits for a turn of its owner. */
  turnOf?: string;
  /** The statement that begins a read-only transaction. If undefined, the transaction can write. */
  readOnlyBegin?: Statement<unknown>;
  /** Rewrites its statements. If undefined, statements are rewritten on Citus only. */
  rewrite?: RewriteStatement | undefined;
}

async function inTransaction<T>(pool: Pool, scope: Scope, work: (tx: PipelinedTransaction) => Promise<T>): Promise<T> {
  if (!(pool instanceof FairPool)) return onConnection(pool, scope, work);
  const release = await pool.turns.take(scope.turnOf ?? (scope.tenantId === '' ? scope.personId : scope.tenantId));
  return onConnection(pool, scope, work).finally(release);
}

async function onConnection<T>(pool: Pool, scope: Scope, work: (tx: PipelinedTransaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const detected = hasCitus(client);
  const isOnCitus = typeof detected === 'boolean' ? detected : await detected;
  const rewrite = scope.rewrite ?? (isOnCitus ? rewriteForCitus : undefined);
  const tx = new PipelinedTransaction(client, { ...scope, rewrite }, clockOf(pool), sealsOf(pool));
  try {
    tx.begin();
    const result = await work(tx);
    await tx.commit();
    client.release();
    return result;
  } catch (error) {
    await tx.rollback().then(
      () => client.release(isReadOnlyError(error)),
      () => client.release(true),
    );
    throw tx.reasonOf(error);
  }
}

/** The part of a client that the types of the driver do not declare: its connection. */
interface WithStream {
  readonly connection: { readonly stream: Writable };
}

class PipelinedTransaction implements Transaction, PersonTransaction {
  readonly tenantId: string;
  readonly personId: string;
  readonly clock: Clock;
  readonly #seals: Seals | undefined;
  readonly #readOnlyBegin: Statement<unknown> | undefined;
  readonly #rewrite: RewriteStatement | undefined;
  readonly #client: PoolClient;
  /** Whether COMMIT must fail without the row of the tenant (citus-statements.ts). */
  #needsRowOfTenant = false;
  #committed: Promise<void> | undefined;
  #isCollecting = false;
  #firstFailure: unknown;
  readonly #afterCommit: (() => void)[] = [];
  readonly #replaceError: ((error: unknown) => unknown)[] = [];

  constructor(client: PoolClient, { tenantId, personId, rewrite, readOnlyBegin }: Scope, clock: Clock, seals: Seals | undefined) {
    this.#rewrite = rewrite;
    this.#seals = seals;
    this.clock = clock;
    this.#client = client;
    this.tenantId = tenantId;
    this.personId = personId;
    this.#readOnlyBegin = readOnlyBegin;
  }

  get seals(): Seals {
    return requireDefined(this.#seals);
  }

  /** Sends BEGIN and the owner without waiting. If they fail, COMMIT fails too. */
  begin(): void {
    this.run(this.#readOnlyBegin ?? BEGIN, []);
    if (mustPlanAgain(this.#client)) this.run(PLAN_AGAIN, []);
    if (this.#readOnlyBegin !== undefined) this.run(PLAN_FOR_VALUES, []);
    if (this.personId === '') this.#setOwner('tenant_id', this.tenantId);
    else this.#setOwner('person_id', this.personId);
  }

  /** Uses `SET LOCAL` instead of `set_config`, because Citus sends only `SET LOCAL` to the other nodes. `SET` takes no parameters. */
  #setOwner(setting: 'tenant_id' | 'person_id', id: string): void {
    if (!OWNER_ID.test(id)) throw new TypeError('the owner of a transaction must be a UUID');
    this.send({ name: '', text: `SET LOCAL countersign.${setting} = '${id}'` }, []);
  }

  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    if (this.#rewrite === undefined) return ignoreRejection(this.#send(statement, values).then(({ rows }) => rows));
    const rewritten = this.#rewrite(statement);
    if (rewritten !== statement && needsRowOfTenant(rewritten.text)) this.#needsRowOfTenant = true;
    return ignoreRejection(this.#send(rewritten, values).then(({ rows }) => rows));
  }

  send(statement: Statement<unknown>, values: readonly unknown[]): void {
    void this.run(statement, values);
  }

  afterCommit(work: () => void): void {
    this.#afterCommit.push(work);
  }

  replaceError(replace: (error: unknown) => unknown): void {
    this.#replaceError.push(replace);
  }

  commit(): Promise<void> {
    this.#committed ??= this.#sendCommit();
    return this.#committed;
  }

  /**
   * The error to throw after a failure. A transaction that the database rejected is not committed. After any other failure, the outcome is
   * unknown if COMMIT was sent.
   */
  reasonOf(error: unknown): unknown {
    const isOutcomeKnown =
      error instanceof pg.DatabaseError || error instanceof NotCommittedError || error instanceof RowsNotStoredError;
    if (this.#committed === undefined || isOutcomeKnown)
      return this.#replaceError.reduce((reason, replace) => replace(reason), error);
    const { message } = error as Error;
    return new OutcomeUnknownError(`the outcome of COMMIT is unknown: ${message}`, { cause: error });
  }

  async rollback(): Promise<void> {
    await this.#client.query('ROLLBACK');
  }

  /** COMMIT of a failed transaction returns ROLLBACK, without an error. If BEGIN itself failed, it returns COMMIT and changes nothing. */
  async #sendCommit(): Promise<void> {
    if (this.#needsRowOfTenant) this.send(CHECK_ROW_OF_TENANT, [this.tenantId]);
    const { command } = await this.#send(COMMIT, []);
    if (command !== 'COMMIT' || this.#firstFailure !== undefined)
      throw this.#firstFailure ?? new NotCommittedError(`COMMIT returned ${command}`);
    for (const work of this.#afterCommit) work();
  }

  /** Writes the statements of one tick to the connection together at the end of the tick, because every write wakes PostgreSQL. */
  #collect(): void {
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    const { stream } = (this.#client as unknown as WithStream).connection;
    stream.cork();
    process.nextTick(() => {
      this.#isCollecting = false;
      stream.uncork();
    });
  }

  async #send<Row>({ name, text }: Statement<Row>, values: readonly unknown[]): Promise<{ rows: Row[]; command: string }> {
    this.#collect();
    try {
      return await this.#client.query<Row & pg.QueryResultRow>({ name, text, values: values as unknown[] });
    } catch (error) {
      // After a failed statement, later ones fail because the transaction is aborted. The first error is the reason: without it, a batch
      // that only needs a retry would not be retried.
      this.#firstFailure ??= hasRowCountCheck(text) && isDivisionByZero(error) ? new RowsNotStoredError(name, error) : error;
      throw this.#firstFailure;
    }
  }
}
