import * as crypto from 'node:crypto';
import { promisify } from 'node:util';

/** Cost of a hash (RFC 9106): memory in KiB, passes, lanes. */
export interface Argon2Cost {
  memoryKiB: number;
  passes: number;
  lanes: number;
}

/** Derives `tagBytes` bytes from a message and a salt with argon2id (RFC 9106). */
export type Argon2id = (message: Buffer, salt: Buffer, tagBytes: number, cost: Argon2Cost) => Promise<Buffer>;

/** Node's own implementation since 24.7, on its thread pool. Older versions lack it, so it cannot be imported by name. */
const native = (crypto as Partial<typeof crypto>).argon2;

const hashWithNode: Argon2id = (message, nonce, tagLength, { memoryKiB: memory, passes, lanes: parallelism }) =>
  promisify(native!)('argon2id', { message, nonce, parallelism, tagLength, memory, passes });

/** The implementation in JavaScript, for Node before 24.7. It is slower (docs/decisions/0014), but lets other requests run meanwhile. */
export const hashWithJavaScript: Argon2id = async (message, salt, dkLen, { memoryKiB: m, passes: t, lanes: p }) => {
  const { argon2idAsync } = await import('@noble/hashes/argon2.js');
  return Buffer.from(await argon2idAsync(message, salt, { t, m, p, dkLen }));
};

/** The fastest available implementation. */
export const argon2id: Argon2id = native === undefined ? hashWithJavaScript : hashWithNode;
