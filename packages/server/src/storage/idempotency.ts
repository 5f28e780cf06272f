import { digestArray, sealArray, textArray } from '../database/binary-array.ts';
import { BrokenSealError } from '../database/broken-seals.ts';
import { FENCE } from '../database/planner.ts';
import { type RawRow, type SealedTable, sealedColumns, sealedInstant } from '../database/sealed-table.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { expiryClock } from './expiry-clock.ts';

/** The stored response to a request with an Idempotency-Key. */
export interface StoredResponse {
  key: string;
  /** SHA-256 of the request's decompressed body, hex. */
  bodySha256: string;
  /** JSON text of the response's body. */
  body: string;
  /** JSON text of the headers that the endpoint added to the response. */
  headers: string;
}

/** The sealed columns of a stored response: all of them. */
export interface SealedResponse {
  path: string;
  key: string;
  bodySha256: Buffer;
  body: string;
  headers: string;
  createdAt: string;
}

/** The columns that the seal covers. */
export const IDEMPOTENCY_KEYS: SealedTable<SealedResponse> = {
  name: 'idempotency_keys',
  version: 1,
  columns: [
    { field: 'path', column: 'path', kind: 'plain' },
    { field: 'key', column: 'key', kind: 'plain' },
    { field: 'bodySha256', column: 'body_sha256', kind: 'plain' },
    { field: 'body', column: 'answer', kind: 'plain' },
    { field: 'headers', column: 'headers', kind: 'plain' },
    { field: 'createdAt', column: 'created_at', kind: 'instant' },
  ],
  identifyingFields: ['path', 'key'],
};

// One index lookup for each key: see FENCE.
const FIND = sql<RawRow & { input: string }>(
  'find_stored_responses',
  `SELECT input.key AS input, found.* FROM unnest($3::text[]) AS input (key) CROSS JOIN LATERAL (
     SELECT ${sealedColumns(IDEMPOTENCY_KEYS, 'kept')}
       FROM countersign.idempotency_keys AS kept WHERE kept.tenant_id = $1 AND kept.path = $2 AND kept.key = input.key ${FENCE}) AS found`,
);

const DELETE_KEYS = sql(
  'delete_stored_responses_of_keys',
  `DELETE FROM countersign.idempotency_keys WHERE tenant_id = $1 AND path = $2 AND key = ANY ($3::text[])`,
);

const HOURS_24_MS = 24 * 60 * 60 * 1000;

/**
 * Returns the responses that were stored for these keys in the last 24 hours, by key. It must find every committed response: otherwise a
 * request would be stored twice. The value for a row with an invalid seal is a BrokenSealError. Such a response is not sent again, and the
 * request is not stored again. Older responses for these keys are deleted.
 */
export async function findStoredResponses(
  tx: Transaction,
  path: string,
  keys: readonly string[],
): Promise<Map<string, StoredResponse | BrokenSealError>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.run(FIND, [tx.tenantId, path, textArray(keys)]);
  const newestExpired = sealedInstant(new Date(tx.clock.now().getTime() - HOURS_24_MS));
  const found = new Map<string, StoredResponse | BrokenSealError>();
  const expired: string[] = [];
  for (const { input: key, ...raw } of rows) {
    const response = tx.seals.openRow(IDEMPOTENCY_KEYS, tx.tenantId, raw, { path, key });
    if (response === undefined) found.set(key, new BrokenSealError('idempotency_keys'));
    else if (response.createdAt <= newestExpired) expired.push(key);
    else found.set(key, { key, bodySha256: response.bodySha256.toString('hex'), body: response.body, headers: response.headers });
  }
  // A new response replaces an expired one.
  if (expired.length > 0) tx.run(DELETE_KEYS, [tx.tenantId, path, textArray(expired)]);
  return found;
}

const INSERT = sql(
  'insert_stored_responses',
  `INSERT INTO countersign.idempotency_keys (tenant_id, path, key, body_sha256, answer, headers, created_at, seal)
   SELECT $1, $2, key, body_sha256, answer, headers, $7, seal
     FROM unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $8::bytea[]) AS sent (key, body_sha256, answer, headers, seal)
    ORDER BY key`,
);

/**
 * Stores responses. If another transaction is storing a response for the same key, the statement waits for it, and fails with a unique
 * violation if the other transaction commits. The batch is then retried, and finds the response of the other transaction.
 */
export function insertStoredResponses(tx: Transaction, path: string, responses: readonly StoredResponse[]): void {
  if (responses.length === 0) return;
  const createdAt = sealedInstant(tx.clock.now());
  const sealOf = ({ bodySha256, ...others }: StoredResponse) =>
    tx.seals.ofRow(IDEMPOTENCY_KEYS, tx.tenantId, { ...others, path, createdAt, bodySha256: Buffer.from(bodySha256, 'hex') });
  tx.send(INSERT, [
    tx.tenantId,
    path,
    textArray(responses.map(({ key }) => key)),
    digestArray(responses.map(({ bodySha256 }) => bodySha256)),
    textArray(responses.map(({ body }) => body)),
    textArray(responses.map(({ headers }) => headers)),
    createdAt,
    sealArray(responses.map(sealOf)),
  ]);
}

const DELETE_EXPIRED = sql<{ key: string }>(
  'delete_expired_responses',
  `DELETE FROM countersign.idempotency_keys
    WHERE tenant_id = $1 AND (path, key) IN (
      SELECT path, key FROM countersign.idempotency_keys
       WHERE tenant_id = $1 AND created_at <= ${expiryClock(2)} - interval '24 hours' ORDER BY created_at LIMIT 5000)
   RETURNING key`,
);

/** Deletes up to 5,000 responses that were stored 24 hours ago or earlier, and returns their number. */
export const deleteExpiredResponses = async (tx: Transaction): Promise<number> =>
  (await tx.run(DELETE_EXPIRED, [tx.tenantId, ...tx.clock.expiryBounds()])).length;
