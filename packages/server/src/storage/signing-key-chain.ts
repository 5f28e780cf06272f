import { publicJwk } from '@countersign/core/domain/attestation';
import { successionMessage } from '@countersign/core/domain/signing-key-succession';
import { publicKeyFingerprint, sha256, verifyEd25519 } from '../digests.ts';
import type { Instance } from './instance.ts';
import type { StoredSigningKey } from './signing-keys.ts';

/**
 * The signing keys that the first key of the installation leads to: itself, keys that a believed predecessor has signed for, and keys that
 * an operator put in the place of a believed one. A good seal is not enough: with the master secret alone, a key can only be put in as a
 * reset, which the JWKS shows as a break.
 */
export function believedSigningKeys(instance: Instance, keys: readonly StoredSigningKey[]): StoredSigningKey[] {
  const believed = new Map<string, StoredSigningKey>();
  for (let grown = true; grown; ) {
    const next = keys.filter((key) => !believed.has(key.kid) && isBelieved(instance, key, believed));
    for (const key of next) believed.set(key.kid, key);
    grown = next.length > 0;
  }
  return [...believed.values()];
}

function isBelieved(instance: Instance, key: StoredSigningKey, believed: ReadonlyMap<string, StoredSigningKey>): boolean {
  const { kid, publicKey, predecessor, predecessorSignature: signature, resetFrom } = key;
  if (publicJwk(publicKey, sha256).kid !== kid) return false;
  if (predecessor !== null) {
    const signer = believed.get(predecessor);
    if (signer === undefined || signature === null) return false;
    return verifyEd25519(signer.publicKey, successionMessage(instance.id, predecessor, kid), signature);
  }
  if (resetFrom !== null) return believed.has(resetFrom);
  return publicKeyFingerprint(publicKey) === instance.signingFingerprint;
}
