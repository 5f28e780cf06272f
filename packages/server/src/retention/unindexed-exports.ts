import type { Pool } from 'pg';
import { inTenantTransaction, type Transaction } from '../database/transaction.ts';
import { readDocumentsOf } from '../storage/document-segments.ts';
import type { ReadableExport } from '../storage/due-exports.ts';
import { findIndexTime, listUnindexedExports, readExports } from '../storage/unindexed-exports.ts';
import { namesRun } from './names-run.ts';

/** The number of exports whose bodies are in memory at once. A body has up to 20 MiB by default. */
const EXPORTS_AT_ONCE = 4;

/**
 * Searches the stored OpenTelemetry exports that may be older than the table `export_runs` (migration 000007) for parts of a run. Reads the
 * bodies of all these exports. An export whose body cannot be read is left out.
 * @returns the IDs of the exports that contain a part of the run.
 */
export async function findUnindexedExports(pool: Pool, tenantId: string, traceId: string): Promise<string[]> {
  const inTransaction = <T>(read: (tx: Transaction) => Promise<T>) => inTenantTransaction(pool, tenantId, read);
  const indexTime = await inTransaction(findIndexTime);
  const list = (after: string | null) => inTransaction((tx) => listUnindexedExports(tx, after, indexTime));
  const exportIds: string[] = [];
  for (let ids = await list(null); ids.length > 0; ids = await list(ids.at(-1)!))
    for (let at = 0; at < ids.length; at += EXPORTS_AT_ONCE) {
      const batchIds = ids.slice(at, at + EXPORTS_AT_ONCE);
      exportIds.push(...(await inTransaction((tx) => exportsWithRun(tx, batchIds, traceId))));
    }
  return exportIds;
}

/** The IDs of those exports whose bodies contain the run. */
async function exportsWithRun(tx: Transaction, ids: readonly string[], traceId: string): Promise<string[]> {
  const exports = await readExports(tx, ids);
  const bodies = await readDocumentsOf(tx, exports);
  const containsRun = (each: ReadableExport, body: Buffer | undefined) => body !== undefined && namesRun(body, each, traceId);
  return exports.filter((each, index) => containsRun(each, bodies[index])).map(({ id }) => id);
}
