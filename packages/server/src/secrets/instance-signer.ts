import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type PublicJwk, publicJwk } from '@countersign/core/domain/attestation';
import { noteKeyName } from '@countersign/core/domain/checkpoint';
import { type NoteKey, noteVerifierKey, toBase64 } from '@countersign/core/domain/signed-note';
import { successionMessage } from '@countersign/core/domain/signing-key-succession';
import type { Pool } from 'pg';
import { sha256 } from '../crypto/digests.ts';
import { ExitError } from '../errors/exit-codes.ts';
import type { Instance } from '../storage/instance.ts';
import {
  findMissingPredecessor,
  insertSigningKey,
  isSigningKeyStored,
  listSigningKeys,
  markSigningKeyRetired,
  type NewSigningKey,
  predecessorFault,
  type StoredSigningKey,
} from '../storage/signing-keys.ts';
import { fingerprints, type Secrets } from './load-secrets.ts';

/** A current key of the instance. It signs notes under the name of the instance, and attestations under the thumbprint of the key. */
export interface SigningKey {
  /** The name in the signatures of notes. */
  name: string;
  /** 32 bytes, RFC 8032. */
  publicKey: Uint8Array;
  /** The thumbprint of the public JWK (RFC 7638). */
  keyid: string;
  sign(message: Uint8Array): Uint8Array;
}

/** The current keys of the instance: one, or two during a rotation. */
export interface InstanceSigner {
  instanceId: string;
  keys: readonly SigningKey[];
}

/**
 * Opens the signer of the instance. A key that the database does not list is accepted only together with its predecessor (a rotation). If
 * the database lists no key yet, only the key with which the instance was created is accepted.
 * @param options.reset replaces lost keys by the configured one.
 * @throws ExitError for a wrong, retired or changed key.
 */
export async function openSigner(
  pool: Pool,
  instance: Instance,
  secrets: Secrets,
  { reset = false }: { reset?: boolean } = {},
): Promise<InstanceSigner> {
  if (reset) await resetSigningKey(pool, signingKey(noteKeyName(instance.id), secrets.signingKey));
  const name = noteKeyName(instance.id);
  const current = signingKey(name, secrets.signingKey);
  const previous = secrets.previousSigningKey === undefined ? undefined : signingKey(name, secrets.previousSigningKey);
  const listedKeys = new Map((await listKeysIncluding(pool, current.keyid)).map((key) => [key.kid, key]));
  const isCurrent = (key: SigningKey | undefined) => key !== undefined && listedKeys.get(key.keyid)?.retiredAt === null;
  if (listedKeys.get(current.keyid)?.retiredAt != null) {
    throw new ExitError(
      'wrong_secret',
      'the key in COUNTERSIGN_SIGNING_KEY (or signing-key.pem) was retired; set the key that replaced the retired key',
    );
  }
  if (!listedKeys.has(current.keyid)) {
    const mayFollow = listedKeys.size > 0 ? isCurrent(previous) : fingerprints(secrets).signing === instance.signingFingerprint;
    if (!mayFollow) {
      const remedy = listedKeys.size > 0 ? SET_A_KNOWN_KEY : SET_THE_FIRST_KEY;
      throw new ExitError(
        'wrong_secret',
        `COUNTERSIGN_SIGNING_KEY (or signing-key.pem) is not a key of this database; ${remedy}`,
      );
    }
    await insertSigningKey(pool, newSigningKey(instance.id, current, listedKeys.size > 0 ? previous : undefined));
  }
  // If the current and the previous key are the same, a rotation was interrupted. The key signs once.
  const isRotating = isCurrent(previous) && previous!.keyid !== current.keyid;
  return { instanceId: instance.id, keys: isRotating ? [current, previous!] : [current] };
}

const SET_A_KNOWN_KEY =
  'set the right key. For a new key, also set COUNTERSIGN_SIGNING_KEY_PREVIOUS to the previous key; if the previous key is lost, see `signing-key reset --help`';

const SET_THE_FIRST_KEY = 'the database lists no key, so set the key with which the instance was created';

/**
 * All listed keys. If the key `kid` is stored but not listed, another server may have stored it after the list was read. So the list is
 * read again.
 * @throws ExitError if `kid` is still not listed: its seal is invalid, or it is not authentic (storage/signing-key-chain.ts).
 */
async function listKeysIncluding(pool: Pool, kid: string): Promise<StoredSigningKey[]> {
  const isListed = (keys: StoredSigningKey[]) => keys.some((key) => key.kid === kid);
  const listedKeys = await listSigningKeys(pool);
  if (isListed(listedKeys) || !(await isSigningKeyStored(pool, kid))) return listedKeys;
  const newList = await listSigningKeys(pool);
  if (!isListed(newList)) throw brokenSigningKey(kid, await findMissingPredecessor(pool, kid));
  return newList;
}

/** The row of a new key, with the signature of its predecessor. */
function newSigningKey(instanceId: string, { keyid, publicKey }: SigningKey, previous: SigningKey | undefined): NewSigningKey {
  const predecessor = previous?.keyid ?? null;
  const predecessorSignature = previous?.sign(successionMessage(instanceId, previous.keyid, keyid)) ?? null;
  return { kid: keyid, publicKey, predecessor, predecessorSignature, resetFrom: null };
}

/**
 * Adds a key to the list in place of current keys whose private halves are lost, and retires the lost keys. If a call is interrupted, the
 * next call completes its work.
 * @throws ExitError if no key is listed, if no other key is current, or if the key is listed already and is not from a reset. Also if the
 * row of the key is not valid (`listKeysIncluding`).
 */
async function resetSigningKey(pool: Pool, newKey: SigningKey): Promise<void> {
  const listedKeys = await listKeysIncluding(pool, newKey.keyid);
  const lostKeys = listedKeys.filter(({ kid, retiredAt }) => retiredAt === null && kid !== newKey.keyid);
  const configuredRow = listedKeys.find(({ kid }) => kid === newKey.keyid);
  if (listedKeys.length === 0)
    throw new ExitError(
      'refused',
      'this database has no signing keys: restore the rows of signing_keys from a backup; nothing was changed',
    );
  if (lostKeys.length === 0 && configuredRow === undefined)
    throw new ExitError(
      'refused',
      'no signing key of this database is current: all rows of signing_keys were retired outside the server; restore them from a backup; nothing was changed',
    );
  if (lostKeys.length === 0 || (configuredRow !== undefined && configuredRow.resetFrom === null))
    throw new ExitError(
      'refused',
      `the configured signing key, ${newKey.keyid}, belongs to this database already, so it is not lost; nothing was changed`,
    );
  const resetFrom = lostKeys.at(-1)!.kid;
  if (configuredRow === undefined)
    await insertSigningKey(pool, {
      kid: newKey.keyid,
      publicKey: newKey.publicKey,
      predecessor: null,
      predecessorSignature: null,
      resetFrom,
    });
  for (const { kid } of lostKeys) await markSigningKeyRetired(pool, kid);
}

function brokenSigningKey(kid: string, missing: string | undefined): ExitError {
  const fault =
    missing === undefined
      ? 'it was changed outside the server; restore it from a backup'
      : `${predecessorFault(missing)}; restore the row of ${missing} from a backup`;
  return new ExitError('refused', `the row of signing_keys with kid ${kid} is not valid: ${fault}`);
}

/** The ID of a signing key: the thumbprint of its public JWK. */
export const signingKeyId = (key: KeyObject): string => publicJwk(rawPublicKey(key), sha256).kid;

/** Makes a signing key from a private key. @param name the name in the signatures of notes. */
export function signingKey(name: string, key: KeyObject): SigningKey {
  const publicKey = rawPublicKey(key);
  return { name, publicKey, keyid: publicJwk(publicKey, sha256).kid, sign: (message) => sign(null, message, key) };
}

/** The raw public key: the last 32 bytes of the SubjectPublicKeyInfo (RFC 8410). */
const rawPublicKey = (key: KeyObject): Uint8Array =>
  new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32));

/** A published key: a JWK with its verifier key for notes. A retired key has `retired_at`. */
export interface PublishedKey extends PublicJwk {
  note_key: string;
  created_at: string;
  retired_at?: string;
  /** ID of the predecessor, with its signature over this key in base64 (docs/formats.md, "Succession of signing keys"). */
  predecessor?: string;
  predecessor_signature?: string;
  /** ID of the lost key that an operator replaced with this one. No other key has signed for this one. */
  reset_from?: string;
}

/** The published form of a stored key. */
export function publishedKey(instanceId: string, key: StoredSigningKey): PublishedKey {
  const { publicKey, createdAt, retiredAt, predecessor, predecessorSignature, resetFrom } = key;
  return {
    ...publicJwk(publicKey, sha256),
    note_key: noteVerifierKey({ name: noteKeyName(instanceId), publicKey }, sha256),
    created_at: createdAt,
    ...(retiredAt === null ? {} : { retired_at: retiredAt }),
    ...(predecessor === null ? {} : { predecessor, predecessor_signature: toBase64(predecessorSignature!) }),
    ...(resetFrom === null ? {} : { reset_from: resetFrom }),
  };
}

/** The keys that may have signed notes of the instance: current and retired ones. */
export const noteKeysOf = (instanceId: string, listedKeys: readonly StoredSigningKey[]): NoteKey[] =>
  listedKeys.map(({ publicKey }) => ({ name: noteKeyName(instanceId), publicKey }));
