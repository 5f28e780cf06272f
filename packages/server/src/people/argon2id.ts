import * as crypto from 'node:crypto';
import { promisify } from 'node:util';

/** Cost of a hash (RFC 9106): memory in KiB, passes over it, lanes. */
export interface Argon2Cost {
  memoryKiB: number;
  passes: number;
  lanes: number;
}

/** Node's own since 24.7, on threads of its pool; undefined before that, so it cannot be imported by its name. */
const native = (crypto as Partial<typeof crypto>).argon2;

/** argon2id (RFC 9106): `tagBytes` bytes of a message and a salt. */
export async function argon2id(message: Buffer, salt: Buffer, tagBytes: number, cost: Argon2Cost): Promise<Buffer> {
  if (native === undefined) throw new Error('signing in needs Node 24.7 or later: this Node has no argon2');
  const { memoryKiB: memory, passes, lanes: parallelism } = cost;
  return promisify(native)('argon2id', { message, nonce: salt, parallelism, tagLength: tagBytes, memory, passes });
}
