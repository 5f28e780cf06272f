/**
 * Rows that no log holds are sealed one by one, with a message authentication code by a key that is never in the database, so that
 * whoever can only write to the database cannot make a row that is believed (docs/formats.md, "Sealed rows").
 */
import { SEAL_EPOCH } from './head-seal.ts';

/** A value under a seal: text in UTF-8, or bytes. Null is distinct from empty. */
export type SealedValue = string | Uint8Array | null;

/** What a row's seal covers. */
export interface SealedRow {
  table: string;
  /** Empty for tables that belong to no tenant. */
  tenantId: string;
  /** Names the list of columns of this table. */
  version: number;
  /** The columns in the order of the list, the primary key first. */
  values: readonly SealedValue[];
}

/** HKDF's `info` for the seal key of a table; ikm is the master secret, salt is empty, L is 32 (RFC 5869). */
export const rowSealInfo = (table: string, tenantId: string): string => `countersign/row-seal/v1|${table}|${tenantId}`;

/** Stands for the length of a value that is null. */
const NULL_LENGTH = 0xffff_ffff;

const utf8 = new TextEncoder();

/** The bytes that are authenticated: epoch, table, tenant, version and values, each behind its length in four bytes, big-endian. */
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

function writeLength(length: number, into: Uint8Array, at: number): void {
  for (let index = 0; index < 4; index += 1) into[at + index] = length >>> (24 - 8 * index);
}

/** Writes a value and returns its length. ASCII is written in place: the encoder costs a microsecond a call. */
function writeValue(value: string | Uint8Array, into: Uint8Array, at: number): number {
  if (typeof value !== 'string') {
    into.set(value, at);
    return value.length;
  }
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code > 0x7f) return utf8.encodeInto(value, into.subarray(at)).written;
    into[at + index] = code;
  }
  return value.length;
}
