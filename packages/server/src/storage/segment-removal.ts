import { uuidArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import type { Segment } from './document-segments.ts';

const LOCK = sql<Segment>(
  'lock_document_segments',
  'SELECT id, bytes, compressed FROM countersign.document_segments WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR UPDATE',
);

/** Locks and returns the existing segments with these IDs, sorted by ID. */
export const lockSegments = (tx: Transaction, ids: readonly string[]): Promise<Segment[]> =>
  tx.run(LOCK, [tx.tenantId, uuidArray(ids)]);

const DELETE = sql(
  'delete_document_segments',
  'DELETE FROM countersign.document_segments WHERE tenant_id = $1 AND id = ANY ($2::uuid[])',
);

/** Deletes segments. */
export function deleteSegments(tx: Transaction, ids: readonly string[]): void {
  if (ids.length > 0) tx.send(DELETE, [tx.tenantId, uuidArray(ids)]);
}

const REPLACE = sql(
  'replace_document_segment',
  'UPDATE countersign.document_segments SET compressed = $3 WHERE tenant_id = $1 AND id = $2',
);

/** Replaces the compressed bytes of a segment. The length of the decompressed bytes must stay the same. */
export const replaceSegment = (tx: Transaction, id: string, compressed: Buffer): void =>
  tx.send(REPLACE, [tx.tenantId, id, compressed]);
