import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { type DatabaseAddress, openPool } from '../../src/database/pool.ts';
import { shareSeals } from '../../src/database/seals.ts';
import { inTenantTransaction, sql } from '../../src/database/transaction.ts';
import { LOG_NAMES, readHead } from '../../src/storage/log-heads.ts';

const SEAL = sql('reseal_log_head', 'UPDATE countersign.log_heads SET seal = $3 WHERE tenant_id = $1 AND log = $2');

/**
 * Seals the heads of a tenant's logs as they stand: for tests that put by SQL what a server could have written, and for those who hold the
 * master secret.
 * @param pool of a database whose seals are known.
 */
export const reseal = (pool: Pool, tenantId: string): Promise<void> =>
  inTenantTransaction(pool, tenantId, async (tx) => {
    for (const log of LOG_NAMES) {
      const head = await readHead(tx, log);
      if (head === undefined) continue;
      const { seq, rowHash, tree, lastMoment } = head;
      const sealed = { tenantId, log, size: seq, lastHash: rowHash, frontier: tree.frontier, lastMoment };
      await tx.run(SEAL, [tenantId, log, tx.seals.ofHead(sealed)]);
    }
  });

/** A pool that knows the seals of an embedded database: its secrets lie beside it. */
export function sealedPool(address: DatabaseAddress, dataDir: string): Pool {
  const secret = readFileSync(join(dataDir, 'secrets', 'master-secret'), 'utf8');
  return withSecret(openPool(address, { size: 2, name: 'test' }), secret);
}

/** Gives a pool the seals of a master secret in base64. */
export function withSecret(pool: Pool, masterSecret: string): Pool {
  shareSeals([pool], new Uint8Array(Buffer.from(masterSecret, 'base64')));
  return pool;
}
