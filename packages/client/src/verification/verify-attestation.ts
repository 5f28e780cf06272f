import { type AttestationKey, openAttestation, publicJwk } from '@countersign/core/domain/attestation';
import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { fromBase64 } from '@countersign/core/domain/signed-note';
import { ConfigurationError } from '../http/errors.ts';
import type { PromotionDecision } from '../wire/contract.ts';
import { digests, sha256, verifyEd25519 } from './cryptography.ts';

/** The public keys of a service, as `/.well-known/jwks.json` answers them. Keep them: fetched anew each time, they prove little. */
export interface PublicKeys {
  keys: readonly object[];
}

/** Whether an attestation is to be believed; with the decision that it attests and the key that signed it. */
export type AttestationVerdict = { ok: true; decision: PromotionDecision; keyId: string } | { ok: false; fault: string };

/**
 * Whether a decision's attestation (`/api/ledger/decisions/ID/attestation`: an in-toto statement in a DSSE envelope) is signed by one of
 * the service's public keys, and about the decision it carries. For third parties: who can check it cannot forge it.
 * @param envelope the envelope, or its JSON text.
 * @throws ConfigurationError when no Ed25519 key is among the keys.
 */
export function verifyAttestation(envelope: object | string, publicKeys: PublicKeys): AttestationVerdict {
  const keys = publicKeys.keys.flatMap(readJwk);
  if (keys.length === 0) throw new ConfigurationError('there is no Ed25519 key among the public keys');
  try {
    const read: unknown = typeof envelope === 'string' ? JSON.parse(envelope) : envelope;
    const opened = openAttestation(read, keys, verifyEd25519, (decision) => decisionDigest(decision, digests));
    if ('fault' in opened) return { ok: false, fault: opened.fault };
    return { ok: true, decision: opened.decision as unknown as PromotionDecision, keyId: opened.keyid };
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, fault: `it is not JSON: ${error.message}` };
    if (error instanceof NotCanonicalError || error instanceof RangeError)
      return { ok: false, fault: `the decision has no canonical form: ${error.message}` };
    throw error;
  }
}

/** A key of the set; its id is computed, not taken. None for keys of other kinds, which a later version may add. */
function readJwk(jwk: object): AttestationKey[] {
  const { kty, crv, x } = jwk as Record<string, unknown>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return [];
  const publicKey = fromBase64(x.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat((4 - (x.length % 4)) % 4));
  return publicKey?.length === 32 ? [{ keyid: publicJwk(publicKey, sha256).kid, publicKey }] : [];
}
