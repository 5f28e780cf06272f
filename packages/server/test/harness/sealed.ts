import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { DatabaseAddress } from '../../src/database/driver-address.ts';
import { openPool } from '../../src/database/pool.ts';
import { rawName, type SealedTable, sealedColumns } from '../../src/database/sealed-table.ts';
import { requireSeals, shareSeals } from '../../src/database/seals.ts';
import { inTenantTransaction, sql } from '../../src/database/transaction.ts';
import { LOG_NAMES, readHead } from '../../src/storage/log-heads.ts';
import type { TestServer } from './test-server.ts';

const SET_SEAL = sql('reseal_log_head', 'UPDATE countersign.log_heads SET seal = $3 WHERE tenant_id = $1 AND log = $2');

/**
 * Seals the current heads of a tenant's logs. For tests that write by SQL what a server could have written, or that act as an
 * attacker with the master secret.
 * @param pool a pool that was given the database's seals (`shareSeals`).
 */
export const reseal = (pool: Pool, tenantId: string): Promise<void> =>
  inTenantTransaction(pool, tenantId, async (tx) => {
    for (const log of LOG_NAMES) {
      const head = await readHead(tx, log);
      if (head === undefined) continue;
      const { seq, rowHash, tree, lastMoment } = head;
      const sealed = { tenantId, log, size: seq, lastHash: rowHash, frontier: tree.frontier, lastMoment };
      await tx.run(SET_SEAL, [tenantId, log, tx.seals.ofHead(sealed)]);
    }
  });

/** Tables whose seals use a key of the tenant. */
const TABLES_OF_TENANTS = new Set(['memberships', 'decision_keys', 'idempotency_keys', 'retention_periods']);

/**
 * Seals rows as they are. For tests that write by SQL what a server could have written, such as an expired link or an older
 * password hash.
 * @param where an SQL condition for the rows; the alias of the table is `t`.
 */
export async function resealRows<R>(
  { database, open }: Pick<TestServer, 'database' | 'open'>,
  table: SealedTable<R>,
  where = 'true',
  values: unknown[] = [],
): Promise<void> {
  const tenant = TABLES_OF_TENANTS.has(table.name) ? 't.tenant_id' : `''`;
  const rows = await database.sql<Record<string, unknown> & { ctid: string; tenant: string }>(
    `SELECT ${sealedColumns(table, 't')}, t.ctid::text AS ctid, ${tenant} AS tenant FROM countersign.${table.name} AS t WHERE ${where}`,
    values,
  );
  for (const raw of rows) {
    const row = Object.fromEntries(table.columns.map(({ field }) => [field, raw[rawName(table, field)]])) as R;
    const seal = requireSeals(open.pool).ofRow(table, raw.tenant, row);
    await database.sql(`UPDATE countersign.${table.name} SET seal = $1 WHERE ctid = $2::tid`, [seal, raw.ctid]);
  }
}

/** A pool with the seals of an embedded database. The secrets are in the data folder of the database. */
export function sealedPool(address: DatabaseAddress, dataDir: string): Pool {
  const secret = readFileSync(join(dataDir, 'secrets', 'master-secret'), 'utf8');
  return withSecret(openPool(address, { size: 2, name: 'test' }), secret);
}

/** Gives a pool the seals of a master secret in base64. */
export function withSecret(pool: Pool, masterSecret: string): Pool {
  shareSeals([pool], new Uint8Array(Buffer.from(masterSecret, 'base64')));
  return pool;
}
