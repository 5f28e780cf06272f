import { canonicalJson } from './canonical-json.ts';
import { decisionFormFault } from './decision-form.ts';
import type { Digests } from './digests.ts';

/** The signature algorithm of decisions (docs/formats.md, "Promotion decision"). */
export const SIGNATURE_ALG = 'HMAC-SHA256';

/** HKDF's `info` for a tenant's decision key; ikm is the master secret, salt is empty, L is 32 (RFC 5869). */
export const decisionKeyInfo = (tenantId: string, keyId: string): string => `countersign/decision-key/v1|${tenantId}|${keyId}`;

/** The three members of a signature. */
export interface Signature {
  response_sha256: string;
  signature: string;
  signature_alg: typeof SIGNATURE_ALG;
}

/** Returns the digest of a decision: SHA-256, in hex, of the canonical text of all members except those of the signature. */
export function decisionDigest(decision: object, digests: Pick<Digests, 'sha256Hex'>): string {
  const {
    response_sha256: _digest,
    signature: _signature,
    signature_alg: _alg,
    ...content
  } = decision as Record<string, unknown>;
  return digests.sha256Hex(canonicalJson(content));
}

/** Returns the decision with the members of its signature. The decision must not have them yet. */
export function signDecision<D extends object>(decision: D, key: Uint8Array, digests: Digests): D & Signature {
  return { ...decision, ...signatureOf(digests.sha256Hex(canonicalJson(decision)), key, digests) };
}

/** Returns the members of the signature for a decision with this digest. */
export const signatureOf = (digest: string, key: Uint8Array, digests: Digests): Signature => ({
  response_sha256: digest,
  signature: mac(digest, key, digests),
  signature_alg: SIGNATURE_ALG,
});

/** Returns why a decision is malformed or was not signed with `key`; undefined if it is valid. The decision is untrusted. */
export function decisionFault(signed: Record<string, unknown>, key: Uint8Array, digests: Digests): string | undefined {
  const { response_sha256: digest, signature, signature_alg: alg } = signed;
  if (alg !== SIGNATURE_ALG) return `signature_alg is ${JSON.stringify(alg)}, expected ${SIGNATURE_ALG}`;
  const form = decisionFormFault(signed);
  if (form !== undefined) return form;
  const computed = decisionDigest(signed, digests);
  if (digest !== computed)
    return `response_sha256 is ${JSON.stringify(digest)}, but the decision hashes to ${computed}: it was altered`;
  if (!sameText(String(signature), mac(computed, key, digests))) return 'the signature is not by this key';
  return undefined;
}

const mac = (digest: string, key: Uint8Array, digests: Digests): string =>
  digests.hmacSha256Hex(key, `countersign/decision/v1\n${SIGNATURE_ALG}\n${digest}\n`);

/** Whether two texts are equal. The time does not depend on where they differ, so it does not reveal the right signature. */
function sameText(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  for (let index = 0; index < right.length; index += 1)
    difference |= left.charCodeAt(index % (left.length || 1)) ^ right.charCodeAt(index);
  return difference === 0;
}
