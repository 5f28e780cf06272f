import type { Statement, Transaction } from './transaction.ts';

/*
 * Statements on shards. Each shard of a distributed table is an ordinary table on a worker, with the constraints, triggers, rights and
 * row-level security of the distributed table. A statement that names a shard is planned and run by PostgreSQL alone. ADR:
 * docs/decisions/0059.
 */

/** The work must be repeated on the coordinator. The error has the code of a serialization failure, so the batch is retried. */
export class CoordinatorNeededError extends Error {
  override name = 'CoordinatorNeededError';
  readonly code = '40001';
}

/**
 * A statement that Citus plans. It changes no row, but takes a lock until the transaction ends. A move of the shard waits for this lock.
 */
const LOCK_SHARDS: Statement<unknown> = {
  name: 'hold_shards',
  text: `UPDATE countersign.log_heads SET seq = seq WHERE tenant_id = $1 AND log = ''`,
};

/** Fails with a division by zero if the shard is not on this node. */
const REQUIRE_PLACEMENT: Statement<unknown> = {
  name: 'require_placement',
  text: `SELECT 1 / count(*) AS found FROM pg_catalog.pg_dist_placement
          WHERE shardid = $1 AND shardstate = 1 AND groupid = (SELECT groupid FROM pg_catalog.pg_dist_local_group)`,
};

/** The sequence that numbers records in their order. Only numbers that are taken on the coordinator are in ascending order. */
const ORDER_SEQUENCE = 'countersign.record_order';

const NAME_IN_SCHEMA = /\bcountersign\.(\w+)/g;

/** Replaces the names of tables and views that have a replacement. */
const replaceNames = (text: string, replacements: ReadonlyMap<string, string>): string =>
  text.replace(NAME_IN_SCHEMA, (whole, name: string) => replacements.get(name) ?? whole);

/** What replaces the names of tables and views in a statement, for the tenants of one group of shards. */
export interface ShardNames {
  /** The ID of the group's shard of each distributed table, by the name of the table without the schema. */
  shards: ReadonlyMap<string, string>;
  /** The query of each view, by the name of the view. */
  views: ReadonlyMap<string, string>;
  /** The ID of the only shard of each reference table, by the name of the table. Every node has a copy of this shard. */
  references: ReadonlyMap<string, string>;
}

/** The shards with the rows of the same tenants: one shard of each distributed table, all on one node. */
export class ShardGroup {
  /** The ID of the shard of `log_heads`, which identifies the group. */
  readonly id: string;
  /** The SQL that replaces the name of each distributed table and each view. */
  readonly #replacements: ReadonlyMap<string, string>;
  /**
   * Like `#replacements`, for statements that only read. Only this map has the reference tables, because a write to one copy of a reference
   * table would not reach the other copies.
   */
  readonly #readReplacements: ReadonlyMap<string, string>;
  readonly #rewritten = new Map<string, Statement<unknown>>();
  readonly #rewrittenForReading = new Map<string, Statement<unknown>>();

  constructor({ shards, views, references }: ShardNames) {
    this.id = shards.get('log_heads')!;
    const shardName = ([table, id]: [string, string]): [string, string] => [table, `countersign.${table}_${id}`];
    const tables = new Map([...shards].map(shardName));
    // A view reads the distributed tables, so its name is replaced by its query on the shards.
    const queries = [...views].map(([view, query]): [string, string] => [view, `(${replaceNames(query, tables)})`]);
    this.#replacements = new Map([...tables, ...queries]);
    this.#readReplacements = new Map([...this.#replacements, ...[...references].map(shardName)]);
  }

  /** Rewrites a statement that only reads, so that it reads the shards and the node's copies of the reference tables. */
  rewriteForReading({ name, text }: Statement<unknown>): Statement<unknown> {
    let rewritten = this.#rewrittenForReading.get(text);
    if (rewritten === undefined) {
      rewritten = { name: `${name}@${this.id}`, text: replaceNames(text, this.#readReplacements) };
      this.#rewrittenForReading.set(text, rewritten);
    }
    return rewritten;
  }

  /**
   * Rewrites a statement for the shards instead of their tables. The rewritten statement gets a name of its own, because a connection
   * serves several groups.
   * @throws CoordinatorNeededError if the statement takes numbers from `record_order`.
   */
  readonly rewriteForShards = <Row>(statement: Statement<Row>): Statement<Row> => {
    const known = this.#rewritten.get(statement.text);
    if (known !== undefined) return known as Statement<Row>;
    const rewritten = this.#rewrite(statement);
    if (statement.name !== '') this.#rewritten.set(statement.text, rewritten);
    return rewritten as Statement<Row>;
  };

  #rewrite(statement: Statement<unknown>): Statement<unknown> {
    if (statement === LOCK_SHARDS || statement === REQUIRE_PLACEMENT) return statement;
    const { name, text } = statement;
    if (text.includes(ORDER_SEQUENCE))
      throw new CoordinatorNeededError(`${name} takes numbers from a sequence of the coordinator`);
    const onShards = replaceNames(text, this.#replacements);
    if (onShards === text) return statement;
    return { name: name === '' ? '' : `${name}@${this.id}`, text: onShards };
  }

  /**
   * Keeps the shards on this node until the transaction ends. A move of a shard waits until then. If a move blocks writes when a
   * transaction begins, the transaction waits until the move ends. Statements that Citus plans take the same lock. Call it first and do not
   * await it: its statements are sent before the others.
   * @returns a promise that rejects if the shards are not on this node, or if the lock was not granted in time.
   */
  async keepOnNode(tx: Transaction): Promise<void> {
    await Promise.all([tx.run(LOCK_SHARDS, [tx.tenantId]), tx.run(REQUIRE_PLACEMENT, [this.id])]);
  }
}

/** The codes of a lock timeout and a canceled statement. A move that takes too long causes them; a shard on another node does not. */
const TIMEOUT_CODES = new Set(['55P03', '57014']);

/**
 * Whether the coordinator must run the work after this error of `keepOnNode`: after every error of PostgreSQL except timeouts and shutdowns.
 * The usual cause is that the shards are not on this node.
 */
export function needsCoordinator(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  // No SQLSTATE of PostgreSQL begins with E. After a lost connection (EPIPE) the outcome may be unknown, so nothing is repeated.
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code) && !TIMEOUT_CODES.has(code) && !code.startsWith('57P');
}
