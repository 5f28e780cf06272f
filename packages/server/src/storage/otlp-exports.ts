import { boolArray, byteaArray, textArray, uuidArray } from '../database/binary-array.ts';
import { withRowCountCheckOfArray } from '../database/stored-rows.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { type DocumentPlace, PLACE_COLUMNS, placeArrays } from './document-segments.ts';

/** An OpenTelemetry export, ready to be stored. */
export interface ExportRow {
  id: string;
  signal: string;
  recordedBy: string;
  mediaType: string;
  isRedacted: boolean;
  body: Buffer;
  /** The place of the body in a segment; null if the body is stored in the row. */
  place: DocumentPlace | null;
}

const INSERT = sql(
  'insert_otlp_exports',
  withRowCountCheckOfArray(
    `INSERT INTO countersign.otlp_exports (tenant_id, id, signal, received_at, recorded_by, media_type, redacted, body, ${PLACE_COLUMNS})
   SELECT $1, id, signal, statement_timestamp(), recorded_by, media_type, redacted, body, ${PLACE_COLUMNS}
     FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bytea[], $8::uuid[], $9::integer[], $10::integer[])
       AS sent (id, signal, recorded_by, media_type, redacted, body, ${PLACE_COLUMNS})`,
    '$2::uuid[]',
  ),
);

/** Stores exports with their bodies. Bodies in segments are stored by `insertSegments`. */
export function insertExports(tx: Transaction, exports: readonly ExportRow[]): void {
  tx.send(INSERT, [
    tx.tenantId,
    uuidArray(exports.map(({ id }) => id)),
    textArray(exports.map(({ signal }) => signal)),
    textArray(exports.map(({ recordedBy }) => recordedBy)),
    textArray(exports.map(({ mediaType }) => mediaType)),
    boolArray(exports.map(({ isRedacted }) => isRedacted)),
    byteaArray(exports.map(({ body, place }) => (place === null ? body : null))),
    ...placeArrays(exports.map(({ place }) => place)),
  ]);
}
