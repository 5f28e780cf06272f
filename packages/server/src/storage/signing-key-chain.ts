import { publicJwk } from '@countersign/core/domain/attestation';
import { successionMessage } from '@countersign/core/domain/signing-key-succession';
import { publicKeyFingerprint, sha256, verifyEd25519 } from '../crypto/digests.ts';
import type { Instance } from './instance.ts';

/** A public key of the instance, and how it was introduced: as the first key, by a predecessor, or by a reset. */
export interface ChainedKey {
  kid: string;
  /** 32 bytes. */
  publicKey: Uint8Array;
  /** The ID of the key that signed for this one; null for the first key of the instance, and for a key from a reset. */
  predecessor: string | null;
  /** The predecessor's signature over the IDs of the instance and of both keys, 64 bytes; null without a predecessor. */
  predecessorSignature: Uint8Array | null;
  /** The ID of the lost key that this key replaced in a reset; null for a key that is not from a reset. */
  resetFrom: string | null;
}

/**
 * Returns the authentic keys: the first key of the instance, keys that an authentic predecessor has signed for, and keys with which an
 * operator replaced an authentic key in a reset. A valid seal is not enough, because it needs only the master secret. With that secret
 * alone, a key can be added only as a reset, and the JWKS shows resets.
 */
export function authenticSigningKeys<K extends ChainedKey>(instance: Instance, keys: readonly K[]): K[] {
  const authentic = new Map<string, K>();
  for (let hasGrown = true; hasGrown; ) {
    const next = keys.filter((key) => !authentic.has(key.kid) && isAuthentic(instance, key, authentic));
    for (const key of next) authentic.set(key.kid, key);
    hasGrown = next.length > 0;
  }
  return [...authentic.values()];
}

/**
 * The ID of the first key in the chain of a key's predecessors that is not one of `keys`; undefined if the chain is complete. From a key of
 * a reset, the chain continues with the lost key.
 */
export function missingPredecessor(keys: readonly ChainedKey[], kid: string): string | undefined {
  const links = new Map(keys.map((key) => [key.kid, key.predecessor ?? key.resetFrom]));
  let next = links.get(kid);
  while (next != null && links.has(next)) {
    // Each link is followed once, because an attacker can insert two keys that name each other.
    const followed = next;
    next = links.get(followed);
    links.set(followed, null);
  }
  return next ?? undefined;
}

function isAuthentic(instance: Instance, key: ChainedKey, authentic: ReadonlyMap<string, ChainedKey>): boolean {
  const { kid, publicKey, predecessor, predecessorSignature: signature, resetFrom } = key;
  if (publicJwk(publicKey, sha256).kid !== kid) return false;
  if (predecessor !== null) {
    const signer = authentic.get(predecessor);
    if (signer === undefined || signature === null) return false;
    return verifyEd25519(signer.publicKey, successionMessage(instance.id, predecessor, kid), signature);
  }
  if (resetFrom !== null) return authentic.has(resetFrom);
  return publicKeyFingerprint(publicKey) === instance.signingFingerprint;
}
