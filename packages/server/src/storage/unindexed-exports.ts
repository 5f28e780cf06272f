import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import type { ReadableExport } from './due-exports.ts';
import { HIGHEST_ID, LOWEST_ID } from './id-range.ts';

/** The migration that created `export_runs`, the index of the runs of exports. */
const INDEX_MIGRATION = '000007_runs-of-exports';

// `run_on` has the local time of the session that migrated, without its time zone. So a day is added.
const INDEX_TIME = sql<{ at: string }>(
  'find_time_of_export_index',
  `SELECT ((run_on + interval '1 day') AT TIME ZONE 'UTC')::text AS at FROM countersign.migrations WHERE name = '${INDEX_MIGRATION}'`,
);

/** A time at which the index of the runs of exports existed. In a restored database, it is the time of the restore or later. */
export const findIndexTime = async (tx: Transaction): Promise<string> => (await tx.run(INDEX_TIME, []))[0]!.at;

/** The largest number of IDs that are listed at once. */
const LISTED_MAX = 1000;

// IDs are in the order of time. After the first export with a row in the index, every export was indexed. If it has no row, it has no run.
const LIST = sql<{ id: string }>(
  'list_unindexed_exports',
  `SELECT e.id FROM countersign.otlp_exports AS e
    WHERE e.tenant_id = $1 AND e.id > coalesce($2::uuid, '${LOWEST_ID}') AND e.received_at < $3::timestamptz
      AND e.id < coalesce((SELECT r.export FROM countersign.export_runs AS r WHERE r.tenant_id = $1 ORDER BY r.export LIMIT 1), '${HIGHEST_ID}')
    ORDER BY e.id LIMIT ${LISTED_MAX}`,
);

/**
 * The IDs of the next exports after the ID `after` that may be older than the index of their runs, in order, at most LISTED_MAX.
 * @param indexTime from `findIndexTime`.
 */
export const listUnindexedExports = async (tx: Transaction, after: string | null, indexTime: string): Promise<string[]> =>
  (await tx.run(LIST, [tx.tenantId, after, indexTime])).map(({ id }) => id);

const READ = sql<ReadableExport>(
  'read_otlp_exports',
  `SELECT e.id, e.signal, e.media_type AS "mediaType", e.body, e.segment, e.segment_offset AS "offset", e.segment_length AS length
     FROM countersign.otlp_exports AS e WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[]) ORDER BY e.id`,
);

/** The exports with these IDs that are still stored. */
export const readExports = (tx: Transaction, ids: readonly string[]): Promise<ReadableExport[]> =>
  tx.run(READ, [tx.tenantId, uuidArray(ids)]);
