import { hash } from 'node:crypto';
import type { Item } from '../database/batch-writer.ts';
import type { Transaction } from '../database/transaction.ts';
import { ApiError } from '../errors/api-error.ts';
import { findStoredResponses, insertStoredResponses, type StoredResponse } from '../storage/idempotency.ts';
import type { IngestReply, IngestRequest } from './ingest-request.ts';

/** An item that may have an Idempotency-Key. */
export interface Replayable extends Item {
  /** The Idempotency-Key and the SHA-256 of the body, 64 hex digits. */
  readonly idempotency: { key: string; bodySha256: string } | undefined;
}

/** The `idempotency` of a request, and its batch key: two requests with the same Idempotency-Key are never written in the same batch. */
export function idempotencyOf({ idempotencyKey, document }: IngestRequest): {
  idempotency: Replayable['idempotency'];
  batchKeys: string[];
} {
  if (idempotencyKey === undefined) return { idempotency: undefined, batchKeys: [] };
  return {
    idempotency: { key: idempotencyKey, bodySha256: hash('sha256', document, 'hex') },
    batchKeys: [`idempotency:${idempotencyKey}`],
  };
}

/** The outcome of one item of a batch. */
export type Outcome = IngestReply | ApiError;

/**
 * Writes a batch and commits it. A request whose Idempotency-Key has a stored response is not written again. It gets that response, 422 if
 * its body is different, or an error if the row of the response was changed. The other requests are written. If another request has a
 * key, its response is stored in the same transaction, unless the response is a rejection.
 * @param path the path of the endpoint. Keys of different paths are independent.
 * @param write writes the given items, and returns their outcomes in order.
 * @returns the outcomes of all items, in order.
 */
export async function commitWithReplays<I extends Replayable>(
  tx: Transaction,
  path: string,
  items: readonly I[],
  write: (newItems: readonly I[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const keys = items.flatMap(({ idempotency }) => (idempotency === undefined ? [] : [idempotency.key]));
  const storedResponses = keys.length === 0 ? undefined : await findStoredResponses(tx, path, keys);
  const replays = items.map((item) => replayOf(item, storedResponses));
  const newItems = items.filter((_, index) => replays[index] === undefined);
  if (newItems.length === 0) {
    await tx.commit();
    return replays as Outcome[];
  }

  const outcomes = await write(newItems);
  insertStoredResponses(
    tx,
    path,
    newItems.flatMap((item, index) => responseToStore(item, outcomes[index]!)),
  );
  await tx.commit();
  let nextIndex = 0;
  return replays.map((replay) => replay ?? outcomes[nextIndex++]!);
}

function replayOf(
  { idempotency }: Replayable,
  storedResponses: ReadonlyMap<string, StoredResponse | ApiError> | undefined,
): Outcome | undefined {
  const storedResponse = idempotency === undefined ? undefined : storedResponses?.get(idempotency.key);
  if (storedResponse === undefined) return undefined;
  if (storedResponse instanceof ApiError) return storedResponse;
  if (storedResponse.bodySha256 !== idempotency?.bodySha256) {
    const message =
      'this Idempotency-Key was sent with another body; give every request its own Idempotency-Key, and repeat a request with the ' +
      'same bytes';
    return new ApiError('idempotency_key_reused', [{ path: '', code: 'other_body', message }]);
  }
  return {
    json: storedResponse.body,
    headers: { ...(JSON.parse(storedResponse.headers) as Record<string, string>), 'Idempotent-Replayed': 'true' },
  };
}

/** Whether this batch stored the record of an outcome: it was neither rejected nor replayed. */
export const isStored = (outcome: Outcome): boolean =>
  !(outcome instanceof ApiError) && outcome.headers['Idempotent-Replayed'] === undefined;

/** The response to store, if any. Rejections are not stored, so the same key may be sent again with a corrected body. */
function responseToStore({ idempotency }: Replayable, outcome: Outcome): StoredResponse[] {
  if (idempotency === undefined || outcome instanceof ApiError) return [];
  return [{ ...idempotency, body: outcome.json, headers: JSON.stringify(outcome.headers) }];
}
