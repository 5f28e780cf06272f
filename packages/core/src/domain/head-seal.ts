/**
 * The head of a log has a seal: a message authentication code. Its key is never in the database, so write access to the database is not
 * enough to forge a valid head (docs/formats.md, "Sealed heads").
 */

/** The key epoch, which is the first byte of a seal. A change of the master secret would need a new number. */
export const SEAL_EPOCH = 1;

/** Returns HKDF's `info` for a tenant's head seal key; ikm is the master secret, salt is empty, L is 32 (RFC 5869). */
export const headSealInfo = (tenantId: string): string => `countersign/head-seal/v1|${tenantId}`;

/** The content of a head. The seal covers all of it. */
export interface SealedHead {
  tenantId: string;
  log: string;
  /** Number of rows. */
  size: number;
  /** Hash of the last row in hex, for the logs `audit` and `traces`. null for the other logs, and without rows. */
  lastHash: string | null;
  /** The concatenated hashes of the tree's frontier. */
  frontier: Uint8Array;
  /** Time of the last row, UTC with microseconds; null if there is none. */
  lastMoment: string | null;
}

/**
 * Returns the bytes to authenticate: epoch, tenant, log, size, last hash, last moment and frontier, each after its length in four bytes,
 * big-endian. null is written as an empty text.
 */
export function headSealMessage({ tenantId, log, size, lastHash, frontier, lastMoment }: SealedHead): Uint8Array {
  const texts = [String(SEAL_EPOCH), tenantId, log, String(size), lastHash ?? '', lastMoment ?? ''];
  const message = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 4 + frontier.length));
  const view = new DataView(message.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length);
    at += 4;
    for (let index = 0; index < text.length; index += 1) message[at + index] = text.charCodeAt(index);
    at += text.length;
  }
  view.setUint32(at, frontier.length);
  message.set(frontier, at + 4);
  return message;
}
