import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Slots } from '../database/slots.ts';
import { unavailable } from '../errors/api-error.ts';
import { type Argon2Cost, argon2id } from './argon2id.ts';

/**
 * The cost of new hashes: OWASP's Password Storage Cheat Sheet, argon2id with 19 MiB and two passes. A hash takes about 30 ms of one core,
 * or 200 ms in JavaScript.
 */
const COST: Argon2Cost = { memoryKiB: 19_456, passes: 2, lanes: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;

/** A parsed PHC string. */
interface PasswordHash extends Argon2Cost {
  salt: Buffer;
  tag: Buffer;
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** The number of concurrent hashes: half of the four threads that Node has for such work by default. Each hash needs 19 MiB. */
const CONCURRENT_HASHES_MAX = 2;
/** The largest number of queued hashes: about a second of work if each takes 30 ms. Requests beyond it get 503. */
const WAITING_HASHES_MAX = 64;
const slots = new Slots(CONCURRENT_HASHES_MAX);
let pendingHashes = 0;

/** Limits concurrent hashes, so that very many sign-ins fill a queue and not the machine's memory and threads. */
async function withSlot(work: () => Promise<Buffer>): Promise<Buffer> {
  if (pendingHashes >= CONCURRENT_HASHES_MAX + WAITING_HASHES_MAX) throw unavailable('too many passwords are being checked');
  pendingHashes += 1;
  const release = await slots.take();
  try {
    return await work();
  } finally {
    release();
    pendingHashes -= 1;
  }
}

/**
 * Hashes a password with a new salt. Returns a PHC string: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`.
 * @throws ApiError `unavailable` if too many hashes are queued.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return phcString({ ...COST, salt, tag: await withSlot(() => argon2id(bytesOf(password), salt, TAG_BYTES, COST)) });
}

/**
 * The largest number of pending hashes of new passwords. Uses of links are not limited, unlike sign-ins, so concurrent uses of one link
 * could otherwise fill the queue and block all sign-ins.
 */
const PENDING_NEW_HASHES_MAX = 16;
let pendingNewHashes = 0;

/** Like `hashPassword`, for a password that a person sets. @throws ApiError `unavailable` also above PENDING_NEW_HASHES_MAX. */
export async function hashNewPassword(password: string): Promise<string> {
  if (pendingNewHashes >= PENDING_NEW_HASHES_MAX) throw unavailable('too many new passwords are being hashed');
  pendingNewHashes += 1;
  try {
    return await hashPassword(password);
  } finally {
    pendingNewHashes -= 1;
  }
}

/**
 * Whether a password matches a hash. Without a hash (no account, or no password) a fixed hash that matches no password is used, so that the
 * time reveals nothing.
 * @throws ApiError `unavailable` if too many hashes are queued.
 */
export async function isCorrectPassword(password: string, hash: string | null): Promise<boolean> {
  const { salt, tag, ...cost } = hash === null ? HASH_WITHOUT_ACCOUNT : parseHash(hash);
  const computedTag = await withSlot(() => argon2id(bytesOf(password), salt, tag.length, cost));
  return timingSafeEqual(computedTag, tag) && hash !== null;
}

/** Whether a hash has another cost than new hashes. If so, the next successful sign-in replaces the hash. */
export function isOutdated(hash: string): boolean {
  const { memoryKiB, passes, lanes } = parseHash(hash);
  return memoryKiB !== COST.memoryKiB || passes !== COST.passes || lanes !== COST.lanes;
}

const HASH_WITHOUT_ACCOUNT: PasswordHash = { ...COST, salt: Buffer.alloc(SALT_BYTES), tag: Buffer.alloc(TAG_BYTES) };

/** NFKC, because the same characters can be typed as different code points (NIST SP 800-63B-4, section 3.1.1.2). */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFKC'), 'utf8');

const unpaddedBase64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

const phcString = ({ memoryKiB, passes, lanes, salt, tag }: PasswordHash): string =>
  `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${lanes}$${unpaddedBase64(salt)}$${unpaddedBase64(tag)}`;

function parseHash(hash: string): PasswordHash {
  const [, memory, passes, lanes, salt, tag] = PHC.exec(hash) ?? [];
  if (salt === undefined || tag === undefined) throw new Error('the stored password is not an argon2id hash in PHC string form');
  return {
    memoryKiB: Number(memory),
    passes: Number(passes),
    lanes: Number(lanes),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}
