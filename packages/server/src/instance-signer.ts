import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type PublicJwk, publicJwk } from '@countersign/core/domain/attestation';
import { noteKeyName } from '@countersign/core/domain/checkpoint';
import { type NoteKey, noteVerifierKey } from '@countersign/core/domain/signed-note';
import type { Pool } from 'pg';
import { sha256 } from './digests.ts';
import { ExitError } from './exit-codes.ts';
import { fingerprints, type Secrets } from './secrets.ts';
import type { Instance } from './storage/instance.ts';
import { insertSigningKey, isSigningKeyStored, listSigningKeys, type StoredSigningKey } from './storage/signing-keys.ts';

/** A live key of the instance: signs notes under the instance's name, and attestations under its thumbprint. */
export interface SigningKey {
  name: string;
  /** 32 bytes, RFC 8032. */
  publicKey: Uint8Array;
  keyid: string;
  sign(message: Uint8Array): Uint8Array;
}

/** What signs for the instance: one key, or two while one follows the other. */
export interface InstanceSigner {
  instanceId: string;
  keys: readonly SigningKey[];
}

/**
 * The instance's signer. A key that the database does not know is taken only beside the one before it, which is how a rotation looks;
 * where none is listed yet, only the one that the installation was made with. A server with a wrong key must not start.
 */
export async function openSigner(pool: Pool, instance: Instance, secrets: Secrets): Promise<InstanceSigner> {
  const name = noteKeyName(instance.id);
  const current = signingKey(name, secrets.signingKey);
  const previous = secrets.previousSigningKey === undefined ? undefined : signingKey(name, secrets.previousSigningKey);
  const listed = new Map((await listSigningKeys(pool)).map((key) => [key.kid, key]));
  const isLive = (key: SigningKey | undefined) => key !== undefined && listed.get(key.keyid)?.retiredAt === null;
  if (listed.get(current.keyid)?.retiredAt != null) {
    throw new ExitError('wrong_secret', 'COUNTERSIGN_SIGNING_KEY was retired; give the one that followed it');
  }
  if (!listed.has(current.keyid)) {
    if (await isSigningKeyStored(pool, current.keyid)) throw brokenSigningKey(current.keyid);
    const mayFollow = listed.size > 0 ? isLive(previous) : fingerprints(secrets).signing === instance.signingFingerprint;
    if (!mayFollow) {
      throw new ExitError(
        'wrong_secret',
        'COUNTERSIGN_SIGNING_KEY is not one of this database; give the right one, or the one before it as COUNTERSIGN_SIGNING_KEY_PREVIOUS',
      );
    }
    await insertSigningKey(pool, current.keyid, current.publicKey);
  }
  // The same key under both names is a rotation that was cut off: it signs once.
  const both = isLive(previous) && previous!.keyid !== current.keyid;
  return { instanceId: instance.id, keys: both ? [current, previous!] : [current] };
}

const brokenSigningKey = (kid: string): ExitError =>
  new ExitError(
    'refused',
    `the seal of the row of signing_keys with kid ${kid} does not hold: somebody else than the server has changed it; put it back from a backup`,
  );

/** The id under which a private key's public half is listed: the thumbprint of its JWK. */
export const signingKeyId = (key: KeyObject): string => publicJwk(rawPublicKey(key), sha256).kid;

function signingKey(name: string, key: KeyObject): SigningKey {
  const publicKey = rawPublicKey(key);
  return { name, publicKey, keyid: publicJwk(publicKey, sha256).kid, sign: (message) => sign(null, message, key) };
}

/** The 32 bytes at the end of an Ed25519 key's SubjectPublicKeyInfo (RFC 8410). */
const rawPublicKey = (key: KeyObject): Uint8Array =>
  new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32));

/** One key as it is published: a JWK with its verifier key for notes; ended ones say when. */
export interface PublishedKey extends PublicJwk {
  note_key: string;
  created_at: string;
  retired_at?: string;
}

/** A listed key as it is published. */
export function publishedKey(instanceId: string, { publicKey, createdAt, retiredAt }: StoredSigningKey): PublishedKey {
  return {
    ...publicJwk(publicKey, sha256),
    note_key: noteVerifierKey({ name: noteKeyName(instanceId), publicKey }, sha256),
    created_at: createdAt,
    ...(retiredAt === null ? {} : { retired_at: retiredAt }),
  };
}

/** The keys that may have signed the instance's notes: live ones and ended ones. */
export const noteKeysOf = (instanceId: string, listed: readonly StoredSigningKey[]): NoteKey[] =>
  listed.map(({ publicKey }) => ({ name: noteKeyName(instanceId), publicKey }));
