import type { DueRange } from '@countersign/core/domain/retention';
import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import type { StoredDocument } from './document-segments.ts';

/** The largest number of OpenTelemetry exports that one transaction drops. */
export const DROPPED_EXPORTS_MAX = 500;

const RETURNING = `e.id, NULL::bytea AS body, e.segment, e.segment_offset AS "offset", e.segment_length AS length`;

/** A deleted export: its ID and the place of its body in a segment. */
export type DeletedExport = StoredDocument & { id: string };

const DELETE_DUE = sql<DeletedExport>(
  'delete_due_otlp_exports',
  `DELETE FROM countersign.otlp_exports AS e
    WHERE e.tenant_id = $1 AND e.id IN (
      SELECT due.id FROM countersign.otlp_exports AS due
       WHERE due.tenant_id = $1 AND due.id > $2 AND due.id <= $3 AND due.received_at >= $4 AND due.received_at < $5
         AND NOT EXISTS (SELECT FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.export = due.id)
       ORDER BY due.id LIMIT ${DROPPED_EXPORTS_MAX})
   RETURNING ${RETURNING}`,
);

/**
 * Deletes the next exports that were received in a range of time, in the order of their IDs, at most DROPPED_EXPORTS_MAX: those after the
 * ID `after`, up to and including `last`. Exports from which a stored submission was mapped are kept.
 */
export const deleteDueExports = (
  tx: Transaction,
  [after, last]: readonly [string, string],
  { from, before }: DueRange,
): Promise<DeletedExport[]> => tx.run(DELETE_DUE, [tx.tenantId, after, last, from, before]);

/** An export with its body or the place of its body. */
export type ReadableExport = StoredDocument & {
  id: string;
  signal: 'traces' | 'logs';
  mediaType: 'application/x-protobuf' | 'application/json';
};

/** A locked export. `isShared` is whether a stored submission was mapped from it. */
export type LockedExport = ReadableExport & { isShared: boolean };

const LOCK = sql<LockedExport>(
  'lock_otlp_exports_to_erase',
  `SELECT e.id, e.signal, e.media_type AS "mediaType", e.body, e.segment, e.segment_offset AS "offset", e.segment_length AS length,
          EXISTS (SELECT FROM countersign.trace_submissions AS s WHERE s.tenant_id = $1 AND s.export = e.id) AS "isShared"
     FROM countersign.otlp_exports AS e WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[]) ORDER BY e.id FOR UPDATE`,
);

/** Locks the exports with these IDs, and returns them sorted by ID. */
export const lockExportsToErase = (tx: Transaction, ids: readonly string[]): Promise<LockedExport[]> =>
  tx.run(LOCK, [tx.tenantId, uuidArray(ids)]);

const DELETE = sql('delete_otlp_exports', 'DELETE FROM countersign.otlp_exports WHERE tenant_id = $1 AND id = ANY ($2::uuid[])');

/** Deletes exports. */
export const deleteExports = (tx: Transaction, ids: readonly string[]): void => tx.send(DELETE, [tx.tenantId, uuidArray(ids)]);
