import pg, { type Pool, type PoolClient } from 'pg';
import { keepPlansFresh } from './fresh-plans.ts';
import { OutcomeUnknownError } from './pool.ts';
import { sendTogether } from './send-together.ts';

/** A statement with a name: prepared once per connection, and found by its name in pg_stat_statements. */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Phantom: what a row looks like. */
  readonly row?: Row;
}

/** Names a statement. One function of `storage/` per statement. */
export const sql = <Row = Record<string, never>>(name: string, text: string): Statement<Row> => ({ name, text });

/** What the storage functions run on: one transaction of one tenant. */
export interface Transaction {
  readonly tenantId: string;
  /** Sends a statement. Statements of one transaction travel in a pipeline: send those that do not need each other's rows together. */
  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
  /** Sends COMMIT right behind what was sent last, waits for all of it, and gives back what `last` gives. */
  commit<T>(last: Promise<T>): Promise<T>;
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

/**
 * The one way to run a transaction: it belongs to one tenant, row-level security included, and is committed when `work` returns.
 * On any error it is rolled back; a connection that broke is not used again.
 */
export async function inTenantTransaction<T>(pool: Pool, tenantId: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const tx = new PipelinedTransaction(client, tenantId);
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

class PipelinedTransaction implements Transaction {
  readonly tenantId: string;
  readonly #client: PoolClient;
  #committed: Promise<void> | undefined;
  #firstFailure: unknown;
  #opening: Promise<unknown> = Promise.resolve();

  constructor(client: PoolClient, tenantId: string) {
    this.#client = client;
    this.tenantId = tenantId;
  }

  /** BEGIN and the tenant go out without waiting; if they fail, whatever follows fails with them. */
  begin(): void {
    sendTogether(this.#client);
    keepPlansFresh(this.#client);
    this.#opening = this.#client.query(`BEGIN; SET LOCAL countersign.tenant_id = ${pg.escapeLiteral(this.tenantId)}`);
    this.#opening.catch(() => undefined); // reported by commit(), or by the statement that follows
  }

  run<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    return underWay(this.#send(statement, values));
  }

  async commit<T>(last: Promise<T>): Promise<T> {
    this.#committed ??= this.#sendCommit();
    const [result] = await Promise.all([last, this.#opening, this.#committed]);
    return result;
  }

  /** What the database has refused is not kept. Any other failure once COMMIT is on its way says nothing about that. */
  reasonOf(error: unknown): unknown {
    if (this.#committed === undefined || error instanceof pg.DatabaseError || error instanceof NotCommittedError) return error;
    const { message } = error as Error;
    return new OutcomeUnknownError(`whether the database has committed is not known: ${message}`, { cause: error });
  }

  async rollback(): Promise<void> {
    await this.#opening;
    await this.#client.query('ROLLBACK');
  }

  /** A COMMIT in a pipeline whose transaction failed answers ROLLBACK, without an error. */
  async #sendCommit(): Promise<void> {
    sendTogether(this.#client);
    const { command } = await this.#client.query('COMMIT');
    if (command !== 'COMMIT') throw this.#firstFailure ?? new NotCommittedError(`COMMIT was answered with ${command}`);
  }

  async #send<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    sendTogether(this.#client);
    try {
      const { rows } = await this.#client.query({ name: statement.name, text: statement.text, values: values as unknown[] });
      return rows as Row[];
    } catch (error) {
      this.#firstFailure ??= error;
      // What stands behind a failed statement in the pipeline fails with "current transaction is aborted": not the reason, so
      // that a batch which only needs another try would not get it.
      throw (error as { code?: unknown }).code === IN_FAILED_TRANSACTION ? this.#firstFailure : error;
    }
  }
}
