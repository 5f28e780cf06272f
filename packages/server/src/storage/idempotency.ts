import { digestArray, textArray } from '../database/binary-array.ts';
import { sql, type Transaction } from '../database/transaction.ts';
import { expiryClock } from './expiry-clock.ts';

/** The first answer of a request that came with an Idempotency-Key. */
export interface StoredAnswer {
  key: string;
  /** SHA-256 of the decompressed body, hex. */
  bodySha256: string;
  /** JSON text of the answer's body. */
  answer: string;
  /** JSON text of the answer's own headers. */
  headers: string;
}

// A look-up for each key, kept apart by OFFSET 0, and no `= ANY`: see lockTraces.
const FIND = sql<{ key: string; body_sha256: string; answer: string; headers: string; expired: boolean }>(
  'find_answers',
  `SELECT found.* FROM unnest($3::text[]) AS asked (key) CROSS JOIN LATERAL (
     SELECT key, encode(body_sha256, 'hex') AS body_sha256, answer, headers, created_at <= ${expiryClock(4)} - interval '24 hours' AS expired
       FROM countersign.idempotency_keys AS kept WHERE kept.tenant_id = $1 AND kept.path = $2 AND kept.key = asked.key OFFSET 0) AS found`,
);

const DELETE_KEYS_EXPIRED = sql(
  'delete_expired_answers_of_keys',
  `DELETE FROM countersign.idempotency_keys
    WHERE tenant_id = $1 AND path = $2 AND key = ANY ($3::text[]) AND created_at <= ${expiryClock(4)} - interval '24 hours'`,
);

/** The answers kept for these keys, of the last 24 hours. Must return every committed one: a missed one is stored twice. */
export async function findAnswers(tx: Transaction, path: string, keys: readonly string[]): Promise<Map<string, StoredAnswer>> {
  if (keys.length === 0) return new Map();
  const bounds = tx.clock.expiryBounds();
  const rows = await tx.run(FIND, [tx.tenantId, path, textArray(keys), ...bounds]);
  const expired = rows.filter((row) => row.expired).map(({ key }) => key);
  // An expired answer makes room for a new one.
  if (expired.length > 0) tx.run(DELETE_KEYS_EXPIRED, [tx.tenantId, path, textArray(expired), ...bounds]);
  const kept = rows.filter((row) => !row.expired);
  return new Map(
    kept.map((row) => [row.key, { key: row.key, bodySha256: row.body_sha256, answer: row.answer, headers: row.headers }]),
  );
}

const INSERT = sql(
  'insert_answers',
  `INSERT INTO countersign.idempotency_keys (tenant_id, path, key, body_sha256, answer, headers)
   SELECT $1, $2, key, body_sha256, answer, headers
     FROM unnest($3::text[], $4::bytea[], $5::text[], $6::text[]) AS sent (key, body_sha256, answer, headers) ORDER BY key`,
);

/**
 * Keeps answers. Waits for another node that is about to commit the same key, and then fails with a unique violation:
 * the batch is tried again and finds that node's answer.
 */
export async function insertAnswers(tx: Transaction, path: string, answers: readonly StoredAnswer[]): Promise<void> {
  if (answers.length === 0) return;
  await tx.run(INSERT, [
    tx.tenantId,
    path,
    textArray(answers.map(({ key }) => key)),
    digestArray(answers.map(({ bodySha256 }) => bodySha256)),
    textArray(answers.map(({ answer }) => answer)),
    textArray(answers.map(({ headers }) => headers)),
  ]);
}

const DELETE_EXPIRED = sql<{ key: string }>(
  'delete_expired_answers',
  `DELETE FROM countersign.idempotency_keys
    WHERE tenant_id = $1 AND (path, key) IN (
      SELECT path, key FROM countersign.idempotency_keys
       WHERE tenant_id = $1 AND created_at <= ${expiryClock(2)} - interval '24 hours' ORDER BY created_at LIMIT 5000)
   RETURNING key`,
);

/** Forgets up to 5,000 answers older than 24 hours; returns how many. */
export const deleteExpiredAnswers = async (tx: Transaction): Promise<number> =>
  (await tx.run(DELETE_EXPIRED, [tx.tenantId, ...tx.clock.expiryBounds()])).length;
