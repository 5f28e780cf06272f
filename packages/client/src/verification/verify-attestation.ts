import { type AttestationKey, envelopeOfHeader, publicJwk } from '@countersign/core/domain/attestation';
import { NotCanonicalError } from '@countersign/core/domain/canonical-json';
import { decisionDigest } from '@countersign/core/domain/decision-signature';
import { parseLine } from '@countersign/core/domain/export-line';
import { isInstant } from '@countersign/core/domain/member-forms';
import { openAttestation, readEnvelope } from '@countersign/core/domain/open-attestation';
import { fromBase64 } from '@countersign/core/domain/signed-note';
import { listedSuccessionFault } from '@countersign/core/domain/signing-key-succession';
import { ConfigurationError } from '../http/errors.ts';
import type { PromotionDecision } from '../wire/contract.ts';
import { digests, sha256, verifyEd25519 } from './cryptography.ts';

/** The public keys of a service, in the form of `/.well-known/jwks.json`. Store them: a fake service could also serve fake keys. */
export interface PublicKeys {
  keys: readonly object[];
}

/** The result of verifying an attestation, with its decision and the key that signed it. */
export type AttestationVerdict = { ok: true; decision: PromotionDecision; keyId: string } | { ok: false; fault: string };

/**
 * Checks a decision's attestation (`/api/ledger/decisions/ID/attestation`), an in-toto statement in a DSSE envelope. A valid attestation
 * matches its decision. The key that signed it is one of the public keys, and was not retired before the decision. Third parties can check
 * an attestation but not forge it.
 * @param attestation the envelope, its JSON text, or the text of the header `Countersign-Attestation`
 * @param decision the attested decision, or its JSON text. Required with the header, optional with an envelope. A text is also checked for
 *   repeated members and inexact numbers.
 * @throws ConfigurationError if the keys contain no Ed25519 key, are malformed, or contradict themselves (docs/formats.md, "Succession of
 * signing keys").
 */
export function verifyAttestation(
  attestation: object | string,
  publicKeys: PublicKeys,
  decision?: object | string,
): AttestationVerdict {
  const keys = readPublicKeys(publicKeys);
  try {
    const parsedDecision = readDecision(decision);
    if ('fault' in parsedDecision) return { ok: false, fault: parsedDecision.fault };
    const { expected } = parsedDecision;
    if (isHeader(attestation) && expected === undefined)
      return {
        ok: false,
        fault: 'this is the header Countersign-Attestation, which does not contain the decision: give the decision too',
      };
    const parsedAttestation = isHeader(attestation)
      ? { envelope: envelopeOfHeader(expected!, attestation) }
      : envelopeIn(attestation);
    if ('fault' in parsedAttestation) return { ok: false, fault: parsedAttestation.fault };
    const { envelope } = parsedAttestation;
    if (envelope === undefined)
      return { ok: false, fault: 'the attestation does not have the form of the header Countersign-Attestation' };
    const openedAttestation = openAttestation(envelope, keys, verifyEd25519, (decision) => decisionDigest(decision, digests));
    if ('fault' in openedAttestation) return { ok: false, fault: openedAttestation.fault };
    if (expected !== undefined && decisionDigest(expected, digests) !== openedAttestation.decision.response_sha256)
      return { ok: false, fault: 'the attestation is about another decision, or the decision was altered' };
    return { ok: true, decision: openedAttestation.decision as unknown as PromotionDecision, keyId: openedAttestation.keyid };
  } catch (error) {
    if (error instanceof NotCanonicalError || error instanceof RangeError)
      return { ok: false, fault: `the decision has no canonical form: ${error.message}` };
    throw error;
  }
}

/** A decision with the members that form the subject of its attestation. */
type AttestedDecision = Parameters<typeof envelopeOfHeader>[0];

function readDecision(decision: object | string | undefined): { expected: AttestedDecision | undefined } | { fault: string } {
  const parsed = typeof decision === 'string' ? parseLine(decision, 'the decision') : { value: decision };
  if ('fault' in parsed) return parsed;
  if (parsed.value !== undefined && (typeof parsed.value !== 'object' || parsed.value === null || Array.isArray(parsed.value)))
    return { fault: 'the decision is not a JSON object' };
  return { expected: parsed.value as AttestedDecision | undefined };
}

/** Whether a text is the header (`"KEYID";sig=:…:`). No JSON text of an envelope starts with a quotation mark. */
const isHeader = (attestation: object | string): attestation is string =>
  typeof attestation === 'string' && /^\s*"/.test(attestation);

const envelopeIn = (attestation: object | string): { envelope: unknown } | { fault: string } =>
  typeof attestation === 'string' ? readEnvelope(attestation) : { envelope: attestation };

/** The Ed25519 keys of a list. Throws like `verifyAttestation`. */
function readPublicKeys({ keys: jwks }: PublicKeys): AttestationKey[] {
  const keys = jwks.flatMap(readJwk);
  if (keys.length === 0) throw new ConfigurationError('there is no Ed25519 key among the public keys');
  const ids = keys.map(({ keyid }) => keyid);
  const repeatedId = ids.find((id, index) => ids.indexOf(id) !== index);
  const fault =
    repeatedId === undefined ? listedSuccessionFault(jwks, SUCCESSION_CHECKS) : `the key ${repeatedId} is listed twice`;
  if (fault !== undefined) throw invalidKeysError(fault);
  return keys;
}

const SUCCESSION_CHECKS = { sha256, verify: verifyEd25519 };

const invalidKeysError = (fault: string): ConfigurationError => new ConfigurationError(`the public keys are not valid: ${fault}`);

/**
 * The key of a JWK with its computed ID, in a list. The list is empty if the JWK has another type, which later versions may add, or has no
 * valid `x`. Throws like `verifyAttestation`.
 */
function readJwk(jwk: unknown): AttestationKey[] {
  if (typeof jwk !== 'object' || jwk === null) throw invalidKeysError('an element is not an object');
  const { kty, crv, x, kid, retired_at: retiredAt } = jwk as Record<string, unknown>;
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return [];
  const publicKey = fromBase64(x.replaceAll('-', '+').replaceAll('_', '/') + '='.repeat((4 - (x.length % 4)) % 4));
  if (publicKey?.length !== 32) return [];
  const { kid: keyid } = publicJwk(publicKey, sha256);
  if (kid !== undefined && kid !== keyid) throw invalidKeysError(`the key ${keyid} has the kid ${JSON.stringify(kid)}`);
  if (retiredAt !== undefined && !isInstant(retiredAt))
    throw invalidKeysError(`retired_at of the key ${keyid} is not a time in UTC with milliseconds`);
  return [{ keyid, publicKey, retiredAt }];
}
