import { type ChainedEntry, linkEntries, type UnlinkedEntry } from '@countersign/core/domain/audit-chain';
import type pg from 'pg';
import { inject } from 'vitest';
import { digests } from '../../src/crypto/digests.ts';
import { openPool } from '../../src/database/pool.ts';
import { inTenantTransaction } from '../../src/database/transaction.ts';
import { growTree, hashesIn } from '../../src/ledger/log-tree.ts';
import { insertAuditEntries } from '../../src/storage/ledger.ts';
import { type LogName, lockHeads, moveHead } from '../../src/storage/log-heads.ts';
import { insertTreeNodes, readLeafData } from '../../src/storage/tree.ts';
import type { TestDatabase } from '../harness/test-database.ts';

const TABLES = ['audit_entries', 'decisions', 'key_events', 'tree_nodes', 'checkpoints', 'log_heads', 'decision_keys'] as const;

/** An entry before it is linked: every member of the document except `version`, `seq` and `prev_hash`. */
export type ForgedEntry = UnlinkedEntry;

/**
 * An attacker who owns the database, is a superuser, disables triggers and foreign keys, and uses this project's code to compute every
 * hash. The attacker has no secret of the instance and none of the files that auditors keep.
 */
export class Insider {
  readonly #database: TestDatabase;
  readonly pool: pg.Pool;

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.pool = openPool({ ...inject('cluster').superuser, database: database.server.database }, { size: 2, name: 'insider' });
  }

  /** Disables the triggers and foreign keys of TABLES, and saves the rows of these tables. */
  static async open(database: TestDatabase): Promise<Insider> {
    await database.sql('CREATE SCHEMA before');
    for (const table of TABLES) {
      await database.sql(`ALTER TABLE countersign.${table} DISABLE TRIGGER ALL`);
      await database.sql(`CREATE TABLE before.${table} AS TABLE countersign.${table}`);
    }
    return new Insider(database);
  }

  /** Runs SQL; `$T` selects the tenant's rows. */
  sql<Row extends pg.QueryResultRow>(statement: string, tenantId: string, values: unknown[] = []): Promise<Row[]> {
    return this.#database.sql<Row>(statement.replaceAll('$T', `tenant_id = '${tenantId}'`), values);
  }

  /**
   * Swaps columns of a table between the two workspaces. It deletes and inserts rows, because on Citus the rows of two workspaces can be on
   * two nodes.
   * @param log limits the swap to the heads of this log. Without it, `columns` must be `tenant_id`.
   */
  async swap(table: (typeof TABLES)[number], columns: readonly string[], log?: LogName): Promise<void> {
    const [theirs, condition] =
      log === undefined
        ? [`(SELECT DISTINCT tenant_id FROM before.${table})`, 'true']
        : [`before.${table}`, `mine.log = '${log}' AND theirs.log = '${log}'`];
    const tableColumns = await this.#database.sql<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'before.${table}'::regclass AND attnum > 0 ORDER BY attnum`,
    );
    const values = tableColumns.map(({ name }) => `${columns.includes(name) ? 'theirs' : 'mine'}.${name}`);
    await this.#database.sql(`DELETE FROM countersign.${table}${log === undefined ? '' : ` WHERE log = '${log}'`}`);
    await this.#database.sql(
      `INSERT INTO countersign.${table} SELECT ${values.join(', ')} FROM before.${table} AS mine
         JOIN ${theirs} AS theirs ON theirs.tenant_id <> mine.tenant_id AND ${condition}`,
    );
  }

  /** Restores the saved rows for the next attack. */
  async undo(): Promise<void> {
    for (const table of TABLES) {
      await this.#database.sql(`DELETE FROM countersign.${table}`);
      await this.#database.sql(`INSERT INTO countersign.${table} SELECT * FROM before.${table}`);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  /** The stored entries of a ledger, without the members that link them. */
  async entries(tenantId: string): Promise<ForgedEntry[]> {
    const rows = await this.sql<{ document: string }>(
      'SELECT document FROM countersign.audit_entries WHERE $T ORDER BY seq',
      tenantId,
    );
    return rows.map(({ document }) => {
      const { version: _version, seq: _seq, prev_hash: _prev, ...entry } = JSON.parse(document) as ChainedEntry;
      return entry;
    });
  }

  /** Rewrites the whole ledger. Every hash and link, the head, the tree and its nodes are consistent afterwards; the head's seal is old. */
  async rewriteLedger(tenantId: string, entries: readonly ForgedEntry[]): Promise<void> {
    const rows = linkEntries({ seq: 0, rowHash: null }, entries, digests);
    await this.sql('DELETE FROM countersign.audit_entries WHERE $T', tenantId);
    await inTenantTransaction(this.pool, tenantId, async (tx) => insertAuditEntries(tx, rows));
    await this.sql(
      `UPDATE countersign.log_heads SET seq = $1, row_hash = decode($2, 'hex') WHERE $T AND log = 'audit'`,
      tenantId,
      [rows.length, rows.at(-1)!.rowHash],
    );
    await this.regrow(tenantId, 'audit');
  }

  /** Recomputes the tree of a log, its nodes and the `seq` of the head from the current rows. */
  async regrow(tenantId: string, log: LogName): Promise<void> {
    await this.sql(`DELETE FROM countersign.tree_nodes WHERE $T AND log = '${log}'`, tenantId);
    await inTenantTransaction(this.pool, tenantId, async (tx) => {
      const head = (await lockHeads(tx, [log])).get(log)!;
      const leaves = hashesIn(await readLeafData(tx, log, 0, Number.MAX_SAFE_INTEGER));
      const tree = growTree({ size: 0, frontier: new Uint8Array() }, leaves);
      insertTreeNodes(tx, log, tree.nodes);
      // Without the master secret, the attacker can only reuse an old seal.
      moveHead(tx, log, { ...head, seq: tree.size, tree: { size: tree.size, frontier: tree.frontier } }, head.seal!);
    });
  }

  /** Deletes the checkpoints that the database stores. */
  deleteCheckpoints(tenantId: string): Promise<unknown> {
    return this.sql('DELETE FROM countersign.checkpoints WHERE $T', tenantId);
  }
}
