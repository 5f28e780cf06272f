import { byteaArray, int4Array, uuidArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { decompress } from '../documents/compression.ts';
import { SEGMENT_BYTES_MAX } from '../documents/segment-layout.ts';
import { ApiError } from '../errors/api-error.ts';

/** A stored sequence of documents that are compressed together. */
export interface Segment {
  id: string;
  /** Length of the decompressed bytes. */
  bytes: number;
  compressed: Buffer;
}

/** The place of a document: the ID of a segment, and a range of its decompressed bytes. */
export interface DocumentPlace {
  segment: string;
  offset: number;
  length: number;
}

const INSERT = sql(
  'insert_document_segments',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.document_segments (tenant_id, id, bytes, compressed)
   SELECT $1, id, bytes, compressed FROM unnest($2::uuid[], $3::integer[], $4::bytea[]) AS sent (id, bytes, compressed)`,
    '$2::uuid[]',
  ),
);

/** Stores segments. */
export function insertSegments(tx: Transaction, segments: readonly Segment[]): void {
  tx.send(INSERT, [
    tx.tenantId,
    uuidArray(segments.map(({ id }) => id)),
    int4Array(segments.map(({ bytes }) => bytes)),
    byteaArray(segments.map(({ compressed }) => compressed)),
  ]);
}

/** The columns by which a row refers to its document in a segment. They are null if the row contains the document. */
export const PLACE_COLUMNS = 'segment, segment_offset, segment_length';

/** The values of three parameters for PLACE_COLUMNS: `uuid[]`, `integer[]`, `integer[]`. Null for a document that is in its row. */
export const placeArrays = (places: readonly (DocumentPlace | null)[]): Buffer[] => [
  uuidArray(places.map((place) => place?.segment ?? null)),
  int4Array(places.map((place) => place?.offset ?? null)),
  int4Array(places.map((place) => place?.length ?? null)),
];

/** SQL for the columns of a StoredDocument. @param row the alias of the table. @param column the column with the document. */
export const documentColumns = (row: string, column: 'document' | 'body' = 'document'): string =>
  `${row}.${column}, ${row}.segment, ${row}.segment_offset AS "offset", ${row}.segment_length AS length`;

/** SQL for the length of a document in bytes. It does not read the document. Parameters as for `documentColumns`. */
export const documentBytes = (row: string, column: 'document' | 'body' = 'document'): string =>
  `coalesce(${row}.segment_length, octet_length(${row}.${column}))`;

/** The document of a row, or its place in a segment. */
export type StoredDocument = { segment: string | null; offset: number | null; length: number | null } & (
  | { document: string | null }
  | { body: Buffer | null }
);

const READ = sql<Segment>(
  'read_document_segments',
  `SELECT s.id, s.bytes, s.compressed FROM unnest($2::uuid[]) AS input (id)
     JOIN countersign.document_segments AS s ON s.tenant_id = $1 AND s.id = input.id`,
);

/** Returns a document of `readDocumentsOf`. @throws ApiError `log_rewritten` if it is undefined, because it could not be read. */
export function requireReadable<T extends Buffer | string>(document: T | undefined): T {
  if (document === undefined) throw new ApiError('log_rewritten', [{ path: '', code: 'log_rewritten', message: UNREADABLE }]);
  return document;
}

const UNREADABLE =
  'a stored document cannot be read: the database was changed outside the server. ' +
  'If it belongs to a trace, the operator finds its row with `countersign-server ledger verify --log traces`';

/**
 * The largest number of segments that one statement reads, to limit the memory. A decompressed segment has up to 512 KiB, or one longer
 * document.
 */
const SEGMENTS_AT_ONCE = 8;

/**
 * The documents of rows, in order. A document is undefined if its segment is missing or damaged, because the database was changed outside
 * the server. The caller limits the total bytes of the documents.
 */
export async function readDocumentsOf(tx: Transaction, rows: readonly StoredDocument[]): Promise<(Buffer | undefined)[]> {
  const documents = rows.map((row) => documentInRow(row));
  // The maximum size of a segment that the server has written for these rows. A segment whose column `bytes` is larger is not decompressed,
  // because the column was changed.
  const segmentBytesMax = rows.reduce((max, { length }) => Math.max(max, length ?? 0), SEGMENT_BYTES_MAX);
  const ids = [...new Set(rows.flatMap(({ segment }) => (segment === null ? [] : [segment])))];
  for (let at = 0; at < ids.length; at += SEGMENTS_AT_ONCE) {
    const segments = await tx.run(READ, [tx.tenantId, uuidArray(ids.slice(at, at + SEGMENTS_AT_ONCE))]);
    for (const { id, bytes, compressed } of segments) {
      const raw = bytes > segmentBytesMax ? undefined : await decompress(compressed, bytes).catch(() => undefined);
      rows.forEach((row, index) => {
        if (row.segment === id) documents[index] = raw === undefined ? undefined : rangeOf(raw, row);
      });
    }
  }
  return documents;
}

/** The document of a row that contains it; undefined if the document is in a segment. */
export function documentInRow(row: StoredDocument): Buffer | undefined {
  if ('body' in row) return row.body ?? undefined;
  return row.document === null ? undefined : Buffer.from(row.document);
}

/** A copy of a document, so that the rest of the segment is not kept in memory; undefined if its range is outside the segment. */
function rangeOf(raw: Buffer, row: StoredDocument): Buffer | undefined {
  const part = documentInSegment(raw, row);
  return part === undefined ? undefined : Buffer.from(part);
}

/** The document, as a view of the decompressed bytes of its segment; undefined if its range is outside the segment. */
export function documentInSegment(raw: Buffer, { offset, length }: StoredDocument): Buffer | undefined {
  const end = offset! + length!;
  return offset! < 0 || length! < 0 || end > raw.length ? undefined : raw.subarray(offset!, end);
}
