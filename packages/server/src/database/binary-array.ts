/**
 * PostgreSQL's binary array encoding, with one or more functions per element type. The driver sends a Buffer as a binary parameter, which
 * is faster than its text arrays. Format (array_recv in src/backend/utils/adt/arrayfuncs.c): number of dimensions, has-null flag, element
 * OID, length, lower bound, then for each element its length (-1 for null) and its bytes.
 */
const OID = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, timestamptz: 1184, uuid: 2950 } as const;
const HEADER_BYTES = 20;

function allocateArray(oid: number, length: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(1, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
}

/** An array of elements with the same width in bytes. `write` writes one element at an offset. */
function fixedWidthArray<T>(
  oid: number,
  width: number,
  values: readonly (T | null)[],
  write: (buffer: Buffer, value: T, at: number) => void,
): Buffer {
  let nulls = 0;
  for (const value of values) if (value === null) nulls += 1;
  const buffer = allocateArray(oid, values.length, values.length * (4 + width) - nulls * width);
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
      continue;
    }
    at = buffer.writeInt32BE(width, at);
    write(buffer, value, at);
    at += width;
  }
  return buffer;
}

/** `bigint[]` from integers within ±(2^53-1). */
export const int8Array = (values: readonly (number | null)[]): Buffer =>
  fixedWidthArray(OID.int8, 8, values, (buffer, value, at) => {
    buffer.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
    buffer.writeUInt32BE(value >>> 0, at + 4);
  });

/** `smallint[]`. */
export const int2Array = (values: readonly (number | null)[]): Buffer =>
  fixedWidthArray(OID.int2, 2, values, (buffer, value, at) => buffer.writeInt16BE(value, at));

/** `integer[]`. */
export const int4Array = (values: readonly (number | null)[]): Buffer =>
  fixedWidthArray(OID.int4, 4, values, (buffer, value, at) => buffer.writeInt32BE(value, at));

/** `double precision[]`. */
export const float8Array = (values: readonly (number | null)[]): Buffer =>
  fixedWidthArray(OID.float8, 8, values, (buffer, value, at) => buffer.writeDoubleBE(value, at));

/** `boolean[]`. */
export const boolArray = (values: readonly (boolean | null)[]): Buffer =>
  fixedWidthArray(OID.bool, 1, values, (buffer, value, at) => buffer.writeUInt8(value ? 1 : 0, at));

/** `uuid[]` from UUIDs in the 36-character form. */
export const uuidArray = (values: readonly (string | null)[]): Buffer =>
  fixedWidthArray(OID.uuid, 16, values, (buffer, value, at) => buffer.write(value.replaceAll('-', ''), at, 'hex'));

/** Microseconds from 1970 to 2000, the epoch of PostgreSQL. */
const POSTGRES_EPOCH_MICROS = 946_684_800_000_000n;

/** `timestamptz[]` from microseconds since 1970. */
export const timestampArray = (values: readonly (bigint | null)[]): Buffer =>
  fixedWidthArray(OID.timestamptz, 8, values, (buffer, value, at) => buffer.writeBigInt64BE(value - POSTGRES_EPOCH_MICROS, at));

/** `bytea[]` from SHA-256 digests in hex. */
export const digestArray = (values: readonly (string | null)[]): Buffer =>
  fixedWidthArray(OID.bytea, 32, values, (buffer, value, at) => buffer.write(value, at, 'hex'));

/** `bytea[]` from seals of 33 bytes (seals.ts). */
export const sealArray = (values: readonly Uint8Array[]): Buffer =>
  fixedWidthArray(OID.bytea, 33, values, (buffer, value, at) => buffer.set(value, at));

/** `text[]` from strings. They must be well-formed, without U+0000. Labels of the contract and JSON texts meet this condition. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let bytes = values.length * 4;
  const lengths = values.map((value) => {
    const length = value === null ? -1 : Buffer.byteLength(value);
    if (length > 0) bytes += length;
    return length;
  });
  const buffer = allocateArray(OID.text, values.length, bytes);
  let at = HEADER_BYTES;
  values.forEach((value, index) => {
    at = buffer.writeInt32BE(lengths[index]!, at);
    if (value !== null) at += buffer.write(value, at);
  });
  return buffer;
}

/** `text[]` from the UTF-8 bytes of documents, which are not decoded. */
export const documentArray = (documents: readonly (Buffer | null)[]): Buffer => bytesArray(OID.text, documents);

/** `bytea[]` from bytes of any length. */
export const byteaArray = (values: readonly (Buffer | null)[]): Buffer => bytesArray(OID.bytea, values);

function bytesArray(oid: number, documents: readonly (Buffer | null)[]): Buffer {
  const bytes = documents.reduce((sum, document) => sum + 4 + (document === null ? 0 : document.length), 0);
  const buffer = allocateArray(oid, documents.length, bytes);
  let at = HEADER_BYTES;
  for (const document of documents) {
    at = buffer.writeInt32BE(document === null ? -1 : document.length, at);
    if (document !== null) at += document.copy(buffer, at);
  }
  return buffer;
}
