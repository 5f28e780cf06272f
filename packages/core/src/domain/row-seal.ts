/**
 * No log covers the rows of some tables. Each of these rows has a seal: a message authentication code over the row. Its key is never in
 * the database, so write access to the database is not enough to forge a valid row (docs/formats.md, "Sealed rows").
 */
import { SEAL_EPOCH } from './head-seal.ts';

/** A value in a sealed row: text or bytes. A text is sealed in UTF-8. null and an empty value have different seals. */
export type SealedValue = string | Uint8Array | null;

/** The content that a row's seal covers. */
export interface SealedRow {
  table: string;
  /** Empty for tables without a tenant. */
  tenantId: string;
  /** The version of the list of columns of this table. */
  version: number;
  /** The values in the order of the list, the primary key first. */
  values: readonly SealedValue[];
}

/** Returns HKDF's `info` for the seal key of a table; ikm is the master secret, salt is empty, L is 32 (RFC 5869). */
export const rowSealInfo = (table: string, tenantId: string): string => `countersign/row-seal/v1|${table}|${tenantId}`;

/** Written instead of a length for a null value. */
const NULL_LENGTH = 0xffff_ffff;

const utf8 = new TextEncoder();

/** Returns the bytes to authenticate: epoch, table, tenant, version and values, each after its length in four bytes, big-endian. */
export function rowSealMessage({ table, tenantId, version, values }: SealedRow): Uint8Array {
  const fields: readonly SealedValue[] = [String(SEAL_EPOCH), table, tenantId, String(version), ...values];
  let bytesMax = 0;
  for (const field of fields) bytesMax += 4 + (typeof field === 'string' ? 3 * field.length : (field?.length ?? 0));
  const message = new Uint8Array(bytesMax);
  let at = 0;
  for (const field of fields) {
    const length = field === null ? 0 : writeValue(field, message, at + 4);
    writeLength(field === null ? NULL_LENGTH : length, message, at);
    at += 4 + length;
  }
  return message.subarray(0, at);
}

function writeLength(length: number, target: Uint8Array, at: number): void {
  for (let index = 0; index < 4; index += 1) target[at + index] = length >>> (24 - 8 * index);
}

/** Writes a value, and returns its length in bytes. ASCII is written directly, because a call of the encoder takes a microsecond. */
function writeValue(value: string | Uint8Array, target: Uint8Array, at: number): number {
  if (typeof value !== 'string') {
    target.set(value, at);
    return value.length;
  }
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code > 0x7f) return utf8.encodeInto(value, target.subarray(at)).written;
    target[at + index] = code;
  }
  return value.length;
}
