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
  const fields = [String(SEAL_EPOCH), table, tenantId, String(version), ...values].map((value) =>
    typeof value === 'string' ? utf8.encode(value) : value,
  );
  const message = new Uint8Array(fields.reduce((sum, field) => sum + 4 + (field?.length ?? 0), 0));
  const view = new DataView(message.buffer);
  let at = 0;
  for (const field of fields) {
    view.setUint32(at, field?.length ?? NULL_LENGTH);
    at += 4;
    if (field === null) continue;
    message.set(field, at);
    at += field.length;
  }
  return message;
}
