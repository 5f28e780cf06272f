import pg, { type Pool, type PoolClient } from 'pg';
import { type Clock, clockOf } from './clock.ts';
import { keepPlansFresh } from './fresh-plans.ts';
import { FairPool, OutcomeUnknownError } from './pool.ts';
import { known, type Seals, sealsOf } from './seals.ts';
import { type Result, type Statement, StatementGroup } from './statement-group.ts';

/** Names a statement. One function of `storage/` per statement. */
export const sql = <Row = Record<string, never>>(name: string, text: string): Statement<Row> => ({ name, text });

/** What statements are sent on: a transaction, whoever it belongs to. */
export interface Statements {
  /** The clocks of this process and of the database. */
  readonly clock: Clock;
  /** Seals what is stored. Throws where the pool was opened without the master secret. */
  readonly seals: Seals;
  /** Sends a statement. What is sent without waiting in between travels together: one round trip for all of it. */
  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
  /** Sends COMMIT right behind what was sent last, waits for all of it, and gives back what `last` gives. */
  commit<T>(last: Promise<T>): Promise<T>;
  /** Does something once the database has committed; not when it has not, or when that is unknown. It must not fail. */
  afterCommit(work: () => void): void;
}

/** What the storage functions run on: one transaction of one tenant. */
export interface Transaction extends Statements {
  readonly tenantId: string;
}

/** One transaction of one person, who sees where they belong, and of no tenant. */
export interface PersonTransaction extends Statements {
  readonly personId: string;
}

/**
 * Marks a statement's promise as one that may be awaited later, or never when an earlier statement of the pipeline fails: its own
 * failure is then reported by that one, or by COMMIT, and must not end the process as an unhandled rejection.
 */
export function underWay<T>(statement: Promise<T>): Promise<T> {
  statement.catch(() => undefined);
  return statement;
}

/** COMMIT was answered with ROLLBACK: a statement before it had failed. */
export class NotCommittedError extends Error {
  override name = 'NotCommittedError';
}

const IN_FAILED_TRANSACTION = '25P02';

const BEGIN = sql('BEGIN', 'BEGIN');
const BEGIN_READING = sql('BEGIN READ ONLY', 'BEGIN READ ONLY');
const PLAN_FOR_VALUES = sql('plan_for_values', 'SET LOCAL plan_cache_mode = force_custom_plan');
const BE_TENANT = sql('be_tenant', `SELECT set_config('countersign.tenant_id', $1, true)`);
const BE_PERSON = sql('be_person', `SELECT set_config('countersign.person_id', $1, true)`);
const COMMIT = sql('COMMIT', 'COMMIT');

/**
 * The one way to run a transaction: it belongs to one tenant, row-level security included, and is committed when `work` returns.
 * On any error it is rolled back; a connection that broke is not used again.
 */
export const inTenantTransaction = <T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId, personId: '' }, work);

/**
 * The same for reading alone, and whatever would write fails. Plans are made for the values at hand: a list has filters that may be left
 * out, and one plan for all of them would use the index of none (docs/decisions/0017).
 */
export const inReadTransaction = <T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId, personId: '', reading: true }, work);

/** The same for what a person does with their own account: no tenant's rows are seen but the person's memberships. */
export const inPersonTransaction = <T>(pool: Pool, personId: string, work: (tx: PersonTransaction) => Promise<T>): Promise<T> =>
  inTransaction(pool, { tenantId: '', personId }, work);

/** Whom a transaction belongs to: a tenant or a person, the other one empty. */
interface Scope {
  tenantId: string;
  personId: string;
  reading?: boolean;
}

async function inTransaction<T>(pool: Pool, scope: Scope, work: (tx: PipelinedTransaction) => Promise<T>): Promise<T> {
  if (!(pool instanceof FairPool)) return onConnection(pool, scope, work);
  const release = await pool.turns.take(scope.tenantId === '' ? scope.personId : scope.tenantId);
  return onConnection(pool, scope, work).finally(release);
}

async function onConnection<T>(pool: Pool, scope: Scope, work: (tx: PipelinedTransaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const tx = new PipelinedTransaction(client, scope, clockOf(pool), sealsOf(pool));
  try {
    tx.begin();
    const result = await work(tx);
    await tx.commit(Promise.resolve());
    client.release();
    return result;
  } catch (error) {
    await tx.rollback().then(
      () => client.release(),
      () => client.release(true),
    );
    throw tx.reasonOf(error);
  }
}

class PipelinedTransaction implements Transaction, PersonTransaction {
  readonly tenantId: string;
  readonly personId: string;
  readonly clock: Clock;
  readonly #seals: Seals | undefined;
  readonly #reading: boolean;
  readonly #client: PoolClient;
  /** What is said until all that runs now has run: it is sent then, in one write. */
  #group: StatementGroup | undefined;
  #committed: Promise<void> | undefined;
  #firstFailure: unknown;
  readonly #afterCommit: (() => void)[] = [];

  constructor(client: PoolClient, { tenantId, personId, reading = false }: Scope, clock: Clock, seals: Seals | undefined) {
    this.#seals = seals;
    this.clock = clock;
    this.#client = client;
    this.tenantId = tenantId;
    this.personId = personId;
    this.#reading = reading;
  }

  get seals(): Seals {
    return known(this.#seals);
  }

  /** BEGIN and whom it belongs to go out without waiting; if they fail, whatever follows fails with them. */
  begin(): void {
    this.run(this.#reading ? BEGIN_READING : BEGIN, []);
    keepPlansFresh(this.#client, (statement) => this.run(statement, []));
    if (this.#reading) this.run(PLAN_FOR_VALUES, []);
    if (this.personId === '') this.run(BE_TENANT, [this.tenantId]);
    else this.run(BE_PERSON, [this.personId]);
  }

  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    return underWay(this.#send(statement, values).then(({ rows }) => rows));
  }

  afterCommit(work: () => void): void {
    this.#afterCommit.push(work);
  }

  async commit<T>(last: Promise<T>): Promise<T> {
    this.#committed ??= this.#sendCommit();
    const [result] = await Promise.all([last, this.#committed]);
    return result;
  }

  /** What the database has refused is not kept. Any other failure once COMMIT is on its way says nothing about that. */
  reasonOf(error: unknown): unknown {
    if (this.#committed === undefined || error instanceof pg.DatabaseError || error instanceof NotCommittedError) return error;
    const { message } = error as Error;
    return new OutcomeUnknownError(`whether the database has committed is not known: ${message}`, { cause: error });
  }

  async rollback(): Promise<void> {
    this.#sendGroup(); // what was said and not yet sent, BEGIN perhaps, must not go out behind it
    await this.#client.query('ROLLBACK');
  }

  /** A COMMIT of a transaction that failed answers ROLLBACK, without an error. */
  async #sendCommit(): Promise<void> {
    const { command } = await this.#send(COMMIT, []);
    if (command !== 'COMMIT') throw this.#firstFailure ?? new NotCommittedError(`COMMIT was answered with ${command}`);
    for (const work of this.#afterCommit) work();
  }

  async #send<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Result<Row>> {
    this.#group ??= this.#nextGroup();
    try {
      return await this.#group.add(statement, values);
    } catch (error) {
      this.#firstFailure ??= error;
      // What is sent after a failed statement fails with "current transaction is aborted": not the reason, so that a batch which
      // only needs another try would not get it.
      throw (error as { code?: unknown }).code === IN_FAILED_TRANSACTION ? this.#firstFailure : error;
    }
  }

  #nextGroup(): StatementGroup {
    process.nextTick(() => this.#sendGroup());
    return new StatementGroup();
  }

  #sendGroup(): void {
    if (this.#group === undefined) return;
    const group = this.#group;
    this.#group = undefined;
    this.#client.query(group);
  }
}
